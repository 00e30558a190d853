/** Entry point of the key authorizer: a Lambda function that API Gateway asks about keys that it has not seen for a while. */

import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { mysqlOf } from "#adapters/deployment/open-account.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { openLogger } from "#adapters/system/logger.ts";
import { readEnv } from "#adapters/system/read-env.ts";
import { rememberPrincipals } from "#core/services/access/remember-principals.ts";
import { processEnv } from "../_shared/process-env.ts";
import { authorizeKey } from "./authorize.ts";
import { keyAuthorizerEnv } from "./env.ts";

const env = readEnv(keyAuthorizerEnv, processEnv());
const logger = openLogger({ service: "key-authorizer", level: env.LOG_LEVEL });
const control = openControlStore(await mysqlOf(env, logger));
const clock = systemClock;
const deps = { principals: rememberPrincipals(control, clock), clock, digest: systemDigest };

export function handler(
  event: APIGatewayRequestAuthorizerEvent,
): Promise<APIGatewayAuthorizerResult> {
  return authorizeKey(deps, event);
}

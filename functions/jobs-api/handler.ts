/** Entry point of the jobs API: a Lambda function behind API Gateway (REST, v1 events). */
import { readEnv } from "#adapters/system/read-env.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { connect } from "../_shared/connect.ts";
import { connectHistory } from "../_shared/connect-history.ts";
import { createApi } from "../_shared/create-api.ts";
import { processEnv } from "../_shared/process-env.ts";
import { jobsApiEnv } from "./env.ts";
import { jobsOperations } from "./operations.ts";

/** Short enough for a request that has to do without history. */
const HISTORY_ANSWER_MS = 1_400;

const env = readEnv(jobsApiEnv, processEnv(), { ownPrefix: "ARCHIVE_" });
const connected = {
  ...(await connect("jobs-api", env)),
  history: connectHistory(env, HISTORY_ANSWER_MS),
  lanes: new TenantLanes(),
};

export const handler = createApi("jobs-api", jobsOperations(connected), connected);

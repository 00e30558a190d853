/** Entry point of the tasks API: a Lambda function behind API Gateway (REST, v1 events). */
import { readEnv } from "#adapters/system/read-env.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { connect } from "../_shared/connect.ts";
import { createApi } from "../_shared/create-api.ts";
import { openSealer } from "../_shared/open-sealer.ts";
import { processEnv } from "../_shared/process-env.ts";
import { compareZoneData } from "../_shared/zone-data.ts";
import { tasksApiEnv } from "./env.ts";
import { tasksOperations } from "./operations.ts";

const env = readEnv(tasksApiEnv, processEnv(), { ownPrefix: "ARCHIVE_" });
const stores = await connect("tasks-api", env);
const otherZoneData = compareZoneData(env, stores.logger);
const sealer = await openSealer(env, stores);
const connected = { ...stores, sealer, lanes: new TenantLanes(), otherZoneData };

export const handler = createApi("tasks-api", tasksOperations(connected), connected);

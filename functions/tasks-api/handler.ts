/** Entry point of the tasks API: a Lambda function behind API Gateway (REST, v1 events). */
import { readEnv } from "#adapters/system/read-env.ts";
import { connect } from "../_shared/connect.ts";
import { createApi } from "../_shared/create-api.ts";
import { processEnv } from "../_shared/process-env.ts";
import { tasksApiEnv } from "./env.ts";
import { tasksOperations } from "./operations.ts";

const connected = connect(
  "tasks-api",
  readEnv(tasksApiEnv, processEnv(), { ownPrefix: "ARCHIVE_" }),
);

export const handler = createApi("tasks-api", tasksOperations(connected), connected);

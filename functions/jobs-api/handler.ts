/** Entry point of the jobs API: a Lambda function behind API Gateway (REST, v1 events). */
import { readEnv } from "#adapters/system/read-env.ts";
import { connect } from "../_shared/connect.ts";
import { createApi } from "../_shared/create-api.ts";
import { processEnv } from "../_shared/process-env.ts";
import { jobsApiEnv } from "./env.ts";
import { jobsOperations } from "./operations.ts";

const connected = connect("jobs-api", readEnv(jobsApiEnv, processEnv(), { ownPrefix: "ARCHIVE_" }));

export const handler = createApi("jobs-api", jobsOperations(connected), connected);

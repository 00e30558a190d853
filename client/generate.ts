/** `npm run client`: writes client/generated/api.ts anew. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "#functions/_shared/openapi.ts";
import { writeClient } from "./write-client.ts";

writeFileSync(join(import.meta.dirname, "generated", "api.ts"), writeClient(openApiDocument()));

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openApiDocument } from "#functions/_shared/openapi.ts";
import { writeClient } from "./write-client.ts";

test("the client is that of the API as it is: `npm run client` writes it", () => {
  const written = readFileSync(join(import.meta.dirname, "generated", "api.ts"), "utf8");
  assert.ok(written === writeClient(openApiDocument()), "client/generated is old: npm run client");
});

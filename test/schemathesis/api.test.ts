/** Schemathesis makes requests from the OpenAPI document, right ones and wrong ones, and holds the answers against it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { makeTestDatabases } from "#test/support/mysql.ts";
import { addTenant, startGateway } from "#test/support/own-gateway.ts";
import { installSchemathesis } from "./install.ts";

const RUN_MS = 90_000;
const TESTED = /(\d+) generated, (\d+) passed/;
const CASES_MIN = 1_000;

const history = await makeTestKeyspace();

test("no server error, nothing that the document does not say", async () => {
  const program = installSchemathesis();
  const databases = await makeTestDatabases();
  after(() => databases.drop());
  const { key } = await addTenant(databases, "schemathesis");
  await using gateway = await startGateway(databases, history.env);
  const args = [
    ["--config-file", join(import.meta.dirname, "schemathesis.toml")],
    ["run", `${gateway.url}/v1/openapi.json`, "--header", `x-api-key: ${key}`],
    ["--workers", "2", "--continue-on-failure", "--request-timeout", "12", "--no-color"],
    ["--generation-database", "none"],
  ].flat();
  const { code, output } = await run(program, args);
  const [, generated = "0", passed = "0"] = TESTED.exec(output) ?? [];
  assert.equal(code, 0, output.slice(-8_000));
  assert.equal(generated, passed, output.slice(-8_000));
  assert.ok(Number(generated) >= CASES_MIN, output.slice(-8_000));
  assert.deepEqual(gateway.process.lines.slice(1), [], "the gateway has logged no error");
});

async function run(program: string, args: readonly string[]) {
  // It leaves notes of its own where it runs.
  const cwd = mkdtempSync(join(tmpdir(), "schemathesis-"));
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_MS);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  rmSync(cwd, { recursive: true, force: true });
  return { code, output };
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, it } from "node:test";
import { bundledPackages, bundleEntry } from "../constructs/bundle.ts";

// What a Lambda function is deployed as, run by a plain Node process in a folder where no package can be found.

const ROOT = resolve(import.meta.dirname, "../..");
const FUNCTIONS = readdirSync(join(ROOT, "functions")).filter((name) => !name.startsWith("_"));
const WORKERS = readdirSync(join(ROOT, "workers")).filter((name) =>
  statSync(join(ROOT, "workers", name)).isDirectory(),
);
/** Lambda's own limit is 250 MB; what is beyond this here has got something inside that does not belong there. */
const BYTES_MAX = 6 * 1024 * 1024;
const FIRST_ANSWER_MS = 300;
const TRIES = 5;
/** The secret and the key as in AWS, so that its SDK is loaded too; nothing answers behind any of them. */
const ENV = {
  PATH: process.env.PATH,
  MYSQL_URL: "mysql://127.0.0.1:1",
  MYSQL_SECRET_ARN: "arn:aws:secretsmanager:eu-west-1:111122223333:secret:none",
  SECRETS_KMS_KEY: "arn:aws:kms:eu-west-1:111122223333:key/none",
  CASSANDRA_CONTACT_POINTS: "127.0.0.1:1",
  CASSANDRA_AUTH: "sigv4",
  CASSANDRA_DATACENTER: "eu-west-1",
  AWS_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "none",
  AWS_SECRET_ACCESS_KEY: "none",
  AWS_ENDPOINT_URL: "http://127.0.0.1:1",
};
/** Its answer is its own affair: it is the first one, of a process that began with nothing. */
const CALL = `
  const { handler } = await import("./index.mjs");
  const event = { httpMethod: "GET", resource: "/v1/none", headers: {}, requestContext: { requestId: "r" } };
  await handler(event, { getRemainingTimeInMillis: () => 100 }).catch(() => {});
  const { user, system } = process.cpuUsage();
  process.stdout.write("\\nanswered after " + performance.now() + " ms, " + (user + system) / 1000 + " ms of CPU\\n");
  process.exit();`;

const elsewhere = mkdtempSync(join(tmpdir(), "bundle-"));
after(() => rmSync(elsewhere, { recursive: true, force: true }));

describe("the bundle of each function", () => {
  for (const name of FUNCTIONS)
    it(`${name}: stands alone, is small, answers soon`, (t) => {
      const bundle = bundleEntry(`functions/${name}/handler.ts`);
      const directory = join(elsewhere, name);
      cpSync(bundle, directory, { recursive: true });
      const answers = Array.from({ length: TRIES }, () => answerIn(directory));
      const firstMs = Math.min(...answers.map(({ wallMs }) => wallMs));
      const cpuMs = Math.min(...answers.map((answer) => answer.cpuMs));
      const bytes = sizeOf(directory);
      t.diagnostic(
        `${name}: ${Math.round(bytes / 1024)} KB, first answer ${Math.round(firstMs)} ms, ${Math.round(cpuMs)} ms of CPU`,
      );
      assert.ok(bytes < BYTES_MAX, `${bytes} bytes`);
      // The clock also counts what else the machine does; alone on it, the two are the same.
      assert.ok(cpuMs < FIRST_ANSWER_MS, `${cpuMs} ms of CPU to the first answer`);
    });
});

describe("what is in a bundle", () => {
  const entries = [
    ...FUNCTIONS.map((name) => `functions/${name}/handler.ts`),
    ...WORKERS.filter((name) => !name.startsWith("_")).map((name) => `workers/${name}/main.ts`),
  ];
  for (const entry of entries)
    it(`${entry}: no package of development, none that is not installed`, () => {
      const packages = bundledPackages(entry);
      assert.ok(packages.includes("node_modules/mysql2"), "the list is not empty");
      const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
      const unwanted = packages.filter((path) => lock.packages[path]?.dev !== undefined);
      assert.deepEqual(unwanted, []);
      const unknown = packages.filter((path) => lock.packages[path] === undefined);
      assert.deepEqual(unknown, []);
    });
  it("a package of development would be seen", () => {
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
    assert.equal(lock.packages["node_modules/fast-check"].dev, true);
  });
});

describe("bundleEntry", () => {
  it("gives the same directory again, with names kept and readable", () => {
    const first = bundleEntry("functions/reconciler/handler.ts");
    assert.equal(bundleEntry("functions/reconciler/handler.ts"), first);
    assert.match(readFileSync(join(first, "index.mjs"), "utf8"), /\nasync function runPasses\(/);
  });
  it("is readable by everybody, whatever the umask it is made under, and mended where it was made without", () => {
    // Whose bundle nobody else reads meanwhile.
    const build = () => bundleEntry("migrations/migrate.ts");
    const modesIn = (directory: string) => {
      const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
      const modes = entries.map((entry) => {
        const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
        return `${entry.isDirectory() ? "folder" : "file"} ${mode.toString(8)}`;
      });
      return [...new Set(modes)].sort();
    };
    const before = process.umask(0o077);
    try {
      rmSync(build(), { recursive: true });
      const directory = build();
      assert.deepEqual(modesIn(directory), ["file 644", "folder 755"]);
      assert.equal(statSync(directory).mode & 0o777, 0o755);
      chmodSync(join(directory, "index.mjs"), 0o600);
      // As after a new release whose bundle is the same.
      rmSync(`${directory.replace(/-[0-9a-f]{16}$/, "")}.json`);
      assert.equal(build(), directory);
      assert.deepEqual(modesIn(directory), ["file 644", "folder 755"]);
    } finally {
      process.umask(before);
    }
  });
  it("says what does not build", () => {
    assert.throws(() => bundleEntry("functions/none/handler.ts"), /Could not resolve/);
  });
});

/** Milliseconds from the start of the process. */
function answerIn(directory: string): { readonly wallMs: number; readonly cpuMs: number } {
  const said = execFileSync(process.execPath, ["--input-type=module", "--eval", CALL], {
    cwd: directory,
    env: ENV,
    encoding: "utf8",
    timeout: 30_000,
  });
  const [, wallMs, cpuMs] = /answered after ([\d.]+) ms, ([\d.]+) ms of CPU/.exec(said) ?? [];
  return { wallMs: Number(wallMs), cpuMs: Number(cpuMs) };
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** `npm run admin -- …` as an operator runs it: a process of its own, on these databases. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import type { ApiAnswer } from "./api-client.ts";

const COMMAND_MS = 30_000;
const ADMIN = resolve(import.meta.dirname, "../../local/admin.ts");

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** The commands of an operator: to their end, those that have to succeed, and those that have to fail. */
export function operatorOf({
  mysqlUrl,
  databasePrefix,
}: {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
}) {
  /** `npm run admin -- …`, to its end. */
  function admin(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const all = { MYSQL_URL: mysqlUrl, DATABASE_PREFIX: databasePrefix, ...env };
    return new Promise((ended) => {
      const options = { env: { PATH: process.env.PATH, ...all }, timeout: COMMAND_MS };
      const child = execFile(process.execPath, [ADMIN, ...args], options, (_, stdout, stderr) =>
        ended({ code: child.exitCode ?? -1, stdout, stderr }),
      );
    });
  }

  /** A command that has to succeed: what it answers as JSON. */
  async function done(...args: readonly string[]): Promise<ApiAnswer["body"]> {
    const { code, stdout, stderr } = await admin([...args, "--json"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^[^\n]+\n$/, "one line of JSON");
    return JSON.parse(stdout);
  }

  /** A command that has to fail, in one line on stderr. */
  async function refused(args: readonly string[], code: number, line: RegExp, env = {}) {
    const ended = await admin(args, env);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, /^[^\n]+\n$/, ended.stderr);
    assert.match(ended.stderr, line);
    assert.equal(ended.stdout, "");
  }

  return { admin, done, refused };
}

import { createConnection } from "mysql2/promise";
import { SetupError } from "./setup-error.ts";

const CONNECT_TIMEOUT_MS = 2_000;

/** Checks the form of MYSQL_URL: `mysql://user:password@host:port`, without a database. Never repeats it: it holds a password. */
export function parseMysqlUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const wellFormed =
    url?.protocol === "mysql:" &&
    url.hostname !== "" &&
    (url.pathname === "" || url.pathname === "/");
  if (!wellFormed) {
    throw new SetupError(
      "MYSQL_URL has to look like mysql://user:password@host:3306, without a database name",
    );
  }
  return text;
}

/** Tries until the server answers a query. Throws SetupError at once when it refuses the account, else after `deadlineMs`. */
export async function waitUntilMysqlAnswers(
  url: string,
  progress: (line: string) => void,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const { host } = new URL(url);
  const endsAt = performance.now() + deadlineMs;
  let nextWordAt = performance.now() + 2_000;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const connection = await createConnection({ uri: url, connectTimeout: CONNECT_TIMEOUT_MS });
      try {
        await connection.query({ sql: "SELECT 1", timeout: CONNECT_TIMEOUT_MS });
        return;
      } finally {
        connection.destroy();
      }
    } catch (error) {
      const code = (error as { code?: string }).code ?? "no answer";
      if (code === "ER_ACCESS_DENIED_ERROR" || code === "ER_HOST_NOT_PRIVILEGED") {
        throw new SetupError(`MySQL at ${host} refuses the account in MYSQL_URL (${code})`, {
          cause: error,
        });
      }
      if (performance.now() > endsAt) {
        throw new SetupError(
          `MySQL at ${host} did not answer within ${deadlineMs / 1000} s (${code}): start it, or unset MYSQL_URL`,
          { cause: error },
        );
      }
      if (performance.now() > nextWordAt) {
        progress(`waiting for MySQL at ${host} (${code})`);
        nextWordAt += 5_000;
      }
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }
}

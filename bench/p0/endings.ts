/** Cases of p0: how one job of each kind ends, by what its endpoint does and by what it carries. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { jobIdToBytes } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { BODY_BYTES_MAX, SUCCESS_BODY_BYTES_KEPT } from "#core/domain/limits.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import { type Case, onlyJob, RETRY_SOON, sawAttempts, type TaskWishes } from "./kit.ts";

const ONCE = { maxAttempts: 1 };

/** A job that succeeds with its first call. */
function succeeds(name: string, wishes: TaskWishes, look: (job: Job) => void = () => {}): Case {
  return {
    name,
    async start(kit) {
      const id = await kit.create(wishes);
      return async () => {
        const job = await onlyJob(kit, id, "succeeded");
        sawAttempts(kit, job, [1]);
        look(job);
      };
    },
  };
}

/** A job that dies after these calls reached the sink, its last attempt having this error or status. */
function dies(name: string, wishes: TaskWishes, attempts: readonly number[], end: string): Case {
  return {
    name,
    async start(kit) {
      const id = await kit.create({ retry: ONCE, ...wishes });
      return async () => {
        const job = await onlyJob(kit, id, "dead");
        sawAttempts(kit, job, attempts);
        const last = Object.values(job.attempts).at(-1);
        assert.equal(last?.error ?? String(last?.statusCode), end, "how its last attempt ended");
        assert.ok(job.reason, "a reason");
        const hex = Buffer.from(jobIdToBytes(job.id)).toString("hex");
        const letters = await kit.run(`SELECT 1 FROM dead_letters WHERE job_id = 0x${hex}`);
        assert.equal(letters.length, 1, "a dead letter");
      };
    },
  };
}

/** A request that must arrive byte for byte. */
function arrives(name: string, request: Partial<HttpRequest>, bytes: Buffer): Case {
  return {
    name,
    async start(kit) {
      const headers = { "content-type": "text/x-p0", "X-P0-Case": name.replaceAll(/[^ -~]/g, "") };
      const id = await kit.create({ request: { headers, ...request } });
      return async () => {
        const [call] = sawAttempts(kit, await onlyJob(kit, id, "succeeded"), [1]);
        assert.equal(call?.method, request.method ?? "POST");
        assert.equal(call?.bodyBytes, bytes.length);
        const sha256 = bytes.length === 0 ? "" : createHash("sha256").update(bytes).digest("hex");
        assert.equal(call?.bodySha256, sha256, "the body's bytes");
        assert.equal(call?.headers["x-p0-case"], headers["X-P0-Case"]);
        assert.equal(call?.headers["content-type"], "text/x-p0");
      };
    },
  };
}

const failsThenSucceeds: Case = {
  name: "fails twice, is retried, succeeds",
  async start(kit) {
    const id = await kit.create({ path: "/fail-first/2", retry: RETRY_SOON });
    return async () => {
      const job = await onlyJob(kit, id, "succeeded");
      const [first, second] = sawAttempts(kit, job, [1, 2, 3]);
      assert.ok(first && second && second.arrivedAtMs - first.arrivedAtMs >= 1_000, "its backoff");
      assert.deepEqual(
        Object.values(job.attempts).map(({ statusCode }) => statusCode),
        [500, 500, 200],
      );
    };
  },
};

const retryAfter: Case = {
  name: "Retry-After lengthens the backoff",
  async start(kit) {
    const id = await kit.create({ path: "/retry-after/3", retry: RETRY_SOON });
    return async () => {
      const [first, second] = sawAttempts(kit, await onlyJob(kit, id, "succeeded"), [1, 2]);
      assert.ok(first && second && second.arrivedAtMs - first.arrivedAtMs >= 3_000);
    };
  },
};

const TEXT = `{"a":1.0,"b":[ ],"ü":"\\u00fc — 'quoted' \\"twice\\" \\\\ % ? ; -- 😀"}\r\n\t`;
const BINARY = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256));
const LARGE = "0123456789abcdef".repeat(BODY_BYTES_MAX / 16);
const keepsLittle = (job: Job) => {
  const kept = Object.values(job.attempts)[0]?.responseBody ?? "";
  assert.equal(kept.length, SUCCESS_BODY_BYTES_KEPT, "bytes of the response that are kept");
};

export const endings: readonly Case[] = [
  ...PRIORITIES.map((priority) => succeeds(`priority ${priority}`, { priority })),
  succeeds("answers slowly", { path: "/delay/1500" }),
  succeeds("answers 204", { path: "/status/204" }),
  succeeds("answers with a megabyte", { path: "/big/1000000" }, keepsLittle),
  failsThenSucceeds,
  retryAfter,
  dies("always 500: dead", { path: "/status/500", retry: RETRY_SOON }, [1, 2, 3], "500"),
  dies("404: dead after its attempts", { path: "/status/404" }, [1], "404"),
  dies("410: dead at once", { path: "/status/410", retry: RETRY_SOON }, [1], "410"),
  dies("redirect: not followed", { path: "/redirect" }, [1], "302"),
  dies("hangs: timeout", { path: "/hang", timeoutMs: 1_000 }, [1], "timeout"),
  dies("connection refused", { url: "http://127.0.0.1:9/" }, [], "connection-refused"),
  dies("connection reset", { path: "/reset" }, [1], "connection-reset"),
  dies("no such host", { url: "http://no-such-host.invalid/" }, [], "dns"),
  arrives("text body, byte for byte", { body: TEXT }, Buffer.from(TEXT)),
  arrives("binary body", { bodyBase64: BINARY.toString("base64") }, BINARY),
  arrives("body of 256 KB", { body: LARGE }, Buffer.from(LARGE)),
  arrives("GET", { method: "GET" }, Buffer.alloc(0)),
  arrives("DELETE", { method: "DELETE" }, Buffer.alloc(0)),
  arrives("PUT", { method: "PUT", body: "x" }, Buffer.from("x")),
];

/**
 * What the legs of all peers share: the calls, and how they are measured. Plain JavaScript: their packages are not the
 * product's, and its compiler does not know them.
 *
 * A leg fills and drains its queue once to warm up, fills it again, says `ready`, waits for a line on its standard input, drains,
 * and prints its figures as one line.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Pool } from "undici";

/** `server` is where its queue lives; `before[i]` is what job `i` of the warm-up calls at `target`, `paths[i]` of the measured ones. */
const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
export const { server, atOnce } = given;
const { target, payload, before, paths } = given;
/** Whether endpoints take their time. */
export const slow = paths[0].startsWith("/delay/");
let current = before;

const pool = new Pool(target, { connections: atOnce, allowH2: false });

/** One call, as the product makes it but for its signature. Throws where the answer is no success. */
export async function call(i) {
  const headers = {
    "user-agent": "peer/1",
    "content-type": "application/json",
    "idempotency-key": `job_${String(i).padStart(39, "0")}`,
    "x-scheduled-at": "2026-01-01T00:00:00.000Z",
    "x-attempt": "1",
  };
  const answer = await pool.request({ path: current[i], method: "POST", headers, body: payload });
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  await answer.body.text();
}

/** Jobs of a queue: `fill` puts so many there, from number 0; `drain` resolves when every one of them is recorded as done. */
export async function measure(fill, drain) {
  await fill(before.length);
  await drain(before.length);
  current = paths;
  await fill(paths.length);
  console.log("ready");
  await once(process.stdin, "data");
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await drain(paths.length);
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  console.log(`peer ${JSON.stringify({ tookMs, cpuMs: (user + system) / 1_000 })}`);
  process.exit(0);
}

/** Resolves at the `jobs`-th call of `done`. */
export function countdown(jobs) {
  let left = jobs;
  let finish;
  const all = new Promise((resolve) => {
    finish = resolve;
  });
  const done = (count = 1) => {
    left -= count;
    if (left <= 0) finish();
  };
  return { all, done };
}

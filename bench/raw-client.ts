/**
 * raw undici, the limit that the benches compare with: the same calls to the same target, with the same headers and payload, by
 * as many connections as an executor has slots, and nothing else. `node bench/raw-client.ts URL CALLS CONNECTIONS BODY`; its last
 * line is JSON: ms of the calls after a warm-up, and CPU ms of the whole process for them.
 */
import { Pool } from "undici";

export interface RawResult {
  readonly tookMs: number;
  readonly cpuMs: number;
}

export const RAW_WARM_UP_CALLS = 1_000;

async function callAll(pool: Pool, path: string, body: string, calls: number, atOnce: number) {
  let left = calls;
  const scheduledAt = new Date().toISOString();
  const worker = async () => {
    while (left-- > 0) {
      const headers = {
        "user-agent": "at-and-cron/1",
        "content-type": "application/json",
        "idempotency-key": `job_${String(left).padStart(39, "0")}`,
        "x-scheduled-at": scheduledAt,
        "x-attempt": "1",
      };
      const answer = await pool.request({ path, method: "POST", headers, body });
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
      await answer.body.text();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function main([url = "", calls, connections, body = ""]: string[]): Promise<RawResult> {
  const { origin, pathname } = new URL(url);
  const atOnce = Number(connections);
  const pool = new Pool(origin, { connections: atOnce, allowH2: false });
  await callAll(pool, pathname, body, RAW_WARM_UP_CALLS, atOnce);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await callAll(pool, pathname, body, Number(calls), atOnce);
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  await pool.destroy();
  return { tookMs, cpuMs: (user + system) / 1_000 };
}

if (import.meta.main) console.log(`raw ${JSON.stringify(await main(process.argv.slice(2)))}`);

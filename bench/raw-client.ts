/**
 * raw undici, the limit that the benches compare with: the same calls to the same target, with the same headers and payload, by
 * as many connections as an executor has slots, and nothing else. `node bench/raw-client.ts TARGET ORIGINS CALLS WARM_UPS CONNECTIONS
 * BODY` calls TARGET itself, or where there are several origins each of them in turn over TLS; its last line is JSON: ms of the calls
 * after WARM_UPS others (as many as what it is compared with has made), and CPU ms of the whole process for them.
 */
import { Agent, Pool } from "undici";

const PATH = "/ok/0/2/9";
const KEPT_MS = 60_000;

export interface RawResult {
  readonly tookMs: number;
  readonly cpuMs: number;
}

/** Makes one call of these headers. */
type Call = (headers: Record<string, string>) => ReturnType<Pool["request"]>;

async function callAll(call: Call, calls: number, atOnce: number) {
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
      const answer = await call(headers);
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
      await answer.body.text();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function main([
  target = "",
  origins,
  calls,
  warmUps,
  connections,
  body = "",
]: string[]): Promise<RawResult> {
  const atOnce = Number(connections);
  await using client = await openClient(target, Number(origins), atOnce, body);
  await callAll(client.call, Number(warmUps), atOnce);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await callAll(client.call, Number(calls), atOnce);
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  return { tookMs, cpuMs: (user + system) / 1_000 };
}

interface Client extends AsyncDisposable {
  readonly call: Call;
}

async function openClient(
  target: string,
  origins: number,
  atOnce: number,
  body: string,
): Promise<Client> {
  const given = await fetch(`${target}/_target/origins`);
  const overTls = (await given.json()) as string[];
  const [only = target] = overTls;
  if (origins === 1) {
    const pool = new Pool(only, { connections: atOnce, allowH2: false });
    return {
      call: (headers) => pool.request({ path: PATH, method: "POST", headers, body }),
      [Symbol.asyncDispose]: () => pool.destroy(),
    };
  }
  const agent = new Agent({ connections: 1, allowH2: false, keepAliveTimeout: KEPT_MS });
  let next = 0;
  return {
    call: (headers) => {
      const origin = overTls[next++ % overTls.length] ?? target;
      return agent.request({ origin, path: PATH, method: "POST", headers, body });
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

if (import.meta.main) console.log(`raw ${JSON.stringify(await main(process.argv.slice(2)))}`);

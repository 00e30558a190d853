/** `node test/support/raw-callers.ts URL CALLS AT_ONCE`: calls in turn, so many at once; its last line says how many a second. */
import { Pool } from "undici";

const WARM_UP_CALLS = 50;

async function callAll(client: Pool, calls: number, atOnce: number): Promise<void> {
  let left = calls;
  const callInTurn = async () => {
    while (left-- > 0) {
      const { body } = await client.request({ path: "/", method: "POST" });
      await body.text();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, callInTurn));
}

const [url = "", calls, connections] = process.argv.slice(2);
const atOnce = Number(connections);
const client = new Pool(url, { connections: atOnce });
await callAll(client, WARM_UP_CALLS, atOnce);
const startMs = performance.now();
await callAll(client, Number(calls), atOnce);
const perSecond = (Number(calls) * 1_000) / (performance.now() - startMs);
await client.close();
process.stdout.write(`calls a second: ${perSecond.toFixed(2)}\n`);

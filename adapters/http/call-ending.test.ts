import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CallEnding, Interrupts } from "./call-ending.ts";

test("a signal ends the calls that are under way, and those that come after it", () => {
  const interrupts = new Interrupts();
  const abort = new AbortController();
  const [over, late, open, after] = Array.from({ length: 4 }, () => new CallEnding(0));
  assert.ok(over && late && open && after);
  interrupts.add(abort.signal, over)();
  interrupts.add(abort.signal, late);
  interrupts.add(abort.signal, open);
  late.end("timeout");
  abort.abort();
  interrupts.add(abort.signal, after);
  assert.deepEqual(
    [over.why, late.why, open.why, after.why],
    [null, "timeout", "interrupted", "interrupted"],
  );
});

test("nothing is left of calls that have ended: no listener, no memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const interrupts = new Interrupts();
  const abort = new AbortController();
  const calls = async (count: number) => {
    for (let i = 0; i < count; i++) {
      interrupts.add(abort.signal, new CallEnding(0))();
      if (i % 1_000 === 0) await new Promise(setImmediate);
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await calls(1_000);
  const grown = (await calls(20_000)) - before;
  assert.ok(grown < 20_000 * 20, `${grown} bytes after 20,000 calls`);
  assert.equal(getEventListeners(abort.signal, "abort").length, 1);
});

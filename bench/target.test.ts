import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { startTarget, type Target } from "./fleet.ts";

const DEADLINE_MS = 10_000;
let target: Target;
before(async () => {
  target = await startTarget();
});
after(() => target[Symbol.asyncDispose]());

const never = new AbortController().signal;
const call = (path: string) => fetch(`${target.url}${path}`, { method: "POST", body: "{}" });

test("who waits for calls of a group is answered by the last of them, not by those of another", async () => {
  await target.reset();
  const two = target.arrived(5, 2, DEADLINE_MS, never);
  const one = target.arrived(6, 1, DEADLINE_MS, never);
  await call("/ok/0/1/5");
  await call("/ok/0/1/6");
  assert.equal(await one, true);
  const first = await Promise.race([two.then(() => "answered"), target.count(5).then(() => "not")]);
  assert.equal(first, "not");
  await call("/ok/0/1/5");
  assert.equal(await two, true);
  // Those that are there already need no further call.
  assert.equal(await target.arrived(5, 2, DEADLINE_MS, never), true);
  assert.equal(await target.arrived(5, 3, 1, never), false);
});

test("the most calls at once are those that wait for their answer, since the reset", async () => {
  await target.reset();
  for (let i = 0; i < 3; i++) await call("/ok/0/1/0");
  assert.equal(await target.most(), 1);
  const hanging = Array.from({ length: 3 }, () => {
    const sent = request(`${target.url}/hang/0/1/7`, { method: "POST" }).end();
    return sent.on("error", () => {});
  });
  assert.equal(await target.arrived(7, 3, DEADLINE_MS, never), true);
  assert.equal(await target.most(), 3);
  for (const sent of hanging) sent.destroy();
  // The target sees their connections end when it comes to them.
  const endMs = performance.now() + DEADLINE_MS;
  do await target.reset();
  while ((await target.most()) > 0 && performance.now() < endMs);
  assert.equal(await target.most(), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { resultName } from "./result-name.ts";
import { usual } from "./usual-options.ts";

test("each variant of a scenario has a name of its own, whatever its rounds", () => {
  const names: [string, Partial<typeof usual>][] = [
    ["p2", { rounds: 3 }],
    ["p2-delay-50", { delayMs: 50 }],
    ["p2-materialise", { materialise: true }],
    ["p2-tls-100", { tls: 100 }],
    ["p2-cold", { cold: true }],
    ["p2-executors-2", { executors: 2 }],
    ["p2-soak", { soak: true }],
    ["p2-seconds-60", { seconds: 60 }],
    ["p2-quick", { quick: true }],
    ["p2-tls-100-executors-1-cold", { cold: true, executors: 1, tls: 100 }],
  ];
  for (const [name, given] of names) assert.equal(resultName("p2", { ...usual, ...given }), name);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeJobId, makeTaskId, parseJobId, type TenantId } from "#core/domain/ids.ts";
import { type CursorScope, readCursor, writeCursor } from "./cursor.ts";
import { HttpProblem } from "./problem.ts";

const taskId = makeTaskId(Date.UTC(2026, 5, 1), 7, new Uint8Array(8).fill(9));
const jobId = makeJobId(Date.UTC(2026, 5, 1, 9), taskId, 0);
const scope: CursorScope = {
  tenantId: "acme" as TenantId,
  list: `jobs of ${taskId}`,
  filter: { statuses: ["dead"], fromMs: null },
};
const cursor = writeCursor(scope, jobId);
const refused = (error: unknown) => error instanceof HttpProblem && error.status === 400;

test("a cursor is read where it was written", () => {
  assert.equal(readCursor(scope, cursor, parseJobId), jobId);
  assert.equal(readCursor(scope, undefined, parseJobId), null);
  const reordered = { ...scope, filter: { fromMs: null, statuses: ["dead"] } };
  assert.equal(readCursor(reordered, cursor, parseJobId), jobId);
});

test("a cursor with any character changed, left out or added is refused", () => {
  for (let at = 0; at < cursor.length; at++) {
    for (const other of "0aAbBzZ-_=") {
      const changed = `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`;
      if (changed !== cursor)
        assert.throws(() => readCursor(scope, changed, parseJobId), refused, changed);
      const longer = `${cursor.slice(0, at)}${other}${cursor.slice(at)}`;
      assert.throws(() => readCursor(scope, longer, parseJobId), refused, longer);
    }
    const shorter = `${cursor.slice(0, at)}${cursor.slice(at + 1)}`;
    assert.throws(() => readCursor(scope, shorter, parseJobId), refused, shorter);
  }
});

test("a cursor of another tenant, list or filter is refused", () => {
  for (const other of [
    { ...scope, tenantId: "other" as TenantId },
    { ...scope, list: "dead letters" },
    { ...scope, filter: { ...scope.filter, fromMs: 0 } },
  ])
    assert.throws(() => readCursor(other, cursor, parseJobId), refused);
});

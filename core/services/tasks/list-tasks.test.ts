import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { TaskId } from "#core/domain/ids.ts";
import { LISTED_ROWS_MAX, LISTED_ROWS_MS_MAX } from "#core/domain/limits.ts";
import { buildTask, makeTenant } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { listTasks } from "./list-tasks.ts";

const ALL = { status: null, priority: null, tag: null };

test("a list by tag or priority passes over no more tasks than there is time for: pages may be empty, each task is on one", async () => {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const tenantId = makeTenant();
  const count = 3 * LISTED_ROWS_MAX + 2;
  const wanted = [0, LISTED_ROWS_MAX - 1, LISTED_ROWS_MAX, count - 1];
  const ids = Array.from({ length: count }, (_, n) => {
    const isWanted = wanted.includes(n);
    const priority = isWanted ? "low" : "high";
    const task = { tenantId, tags: isWanted ? ["rare"] : [], priority } as const;
    const built = buildTask(clock.nowMs() - n, { task });
    shards.tables.tasks.set(built.task.id, built.task);
    shards.tables.addVersion(built.version);
    return built.task.id;
  });
  const expected = wanted.map((n) => ids[n]);
  const deps = { shards, clock };
  const readAll = async (filter: Parameters<typeof listTasks>[2], limit: number) => {
    const pages: TaskId[][] = [];
    let before: TaskId | null = null;
    do {
      const page: Awaited<ReturnType<typeof listTasks>> = await listTasks(
        deps,
        tenantId,
        filter,
        before,
        limit,
      );
      pages.push(page.items.map(({ task }) => task.id));
      before = page.nextBefore;
    } while (before !== null);
    return pages;
  };
  const filters = [{ ...ALL, tag: "rare" } as const, { ...ALL, priority: "low" } as const];
  for (const filter of filters) assert.deepEqual(await readAll(filter, 50), [expected]);
  assert.deepEqual((await readAll({ ...ALL, tag: "rare" }, 3)).flat(), expected);
  const { tasks } = shards.forTenant(tenantId);
  const { findListedDownTo } = tasks;
  tasks.findListedDownTo = async (...asked) => {
    const found = await findListedDownTo.apply(tasks, asked);
    await clock.advance(LISTED_ROWS_MS_MAX);
    return found;
  };
  for (const filter of filters) {
    const pages = await readAll(filter, 50);
    assert.deepEqual(
      pages.map((page) => page.length),
      [2, 1, 0, 1],
    );
    assert.deepEqual(pages.flat(), expected);
  }
  const whole = await readAll(ALL, count);
  assert.deepEqual(whole, [ids], "nothing is passed over without a filter");
});

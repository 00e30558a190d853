import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { buildTask } from "#test/contract/builders.ts";
import { createTask, createTasks } from "./create-tasks.ts";
import { DriverFault } from "./errors.ts";
import { NAME_KEY } from "./name-taken.ts";
import type { Database } from "./transaction.ts";

const taken = new DriverFault("ER_DUP_ENTRY", 1062, "23000", NAME_KEY);
const refused = new StoreRefused("MySQL refuses it", { cause: taken });

test("a name whose task has given it up by the time that is looked for is nobody's", async () => {
  const select = async () => [];
  const database = { transaction: () => Promise.reject(refused), select } as unknown as Database;
  assert.deepEqual(await createTask(database, buildTask(0), null, null), {
    kind: "name-taken",
    taskId: null,
  });
});

test("a group whose names others take every time may be tried again later", async () => {
  const database = { transaction: () => Promise.reject(refused) } as unknown as Database;
  await assert.rejects(createTasks(database, [buildTask(0)], null, null), StoreUnavailable);
});

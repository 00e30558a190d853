import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { buildTask } from "#test/contract/builders.ts";
import { createTasks } from "./create-tasks.ts";
import { NAME_KEY } from "./edit-task.ts";
import { DriverFault } from "./errors.ts";
import type { Database } from "./transaction.ts";

test("a group whose names others take every time may be tried again later", async () => {
  const taken = new DriverFault("ER_DUP_ENTRY", 1062, "23000", NAME_KEY);
  const refused = new StoreRefused("MySQL refuses it", { cause: taken });
  const database = { transaction: () => Promise.reject(refused) } as unknown as Database;
  await assert.rejects(createTasks(database, [buildTask(0)], null), StoreUnavailable);
});

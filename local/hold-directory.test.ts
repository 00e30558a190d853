import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findHolder, holdDirectory, makeDirectory, whileHolding } from "./hold-directory.ts";

const room = mkdtempSync(join(tmpdir(), "hold-"));
after(() => rmSync(room, { recursive: true, force: true }));

test("makes a folder with those above it, and leaves one that is there", () => {
  const path = join(room, "a", "b", "c");
  makeDirectory(path);
  makeDirectory(path);
  assert.ok(existsSync(path));
});

test("a place where nothing can be made is said at once", () => {
  writeFileSync(join(room, "file"), "");
  for (const path of ["/proc/at-and-cron/x", "/proc/at-and-cron", join(room, "file", "x")])
    assert.throws(
      () => makeDirectory(path),
      /cannot be (made|written) \(E[A-Z]+\): choose another LOCAL_DIR/,
    );
});

test("a folder that is there but read-only is said before anything is put there", () => {
  // Not even root may write there.
  for (const path of ["/proc/sys", "/proc/sys/log"])
    assert.throws(
      () => makeDirectory(path),
      /^SetupError: \/proc\/sys cannot be written \(E[A-Z]+\)/,
    );
});

test("who holds a folder is known, by any path to it and after somebody removed it", async () => {
  const dir = join(room, "held");
  assert.equal(findHolder(dir), null);
  assert.equal(await holdDirectory(dir), true);
  assert.equal(await holdDirectory(dir), false);
  symlinkSync(dir, join(room, "link"));
  for (const path of [dir, join(room, "link")]) assert.equal(findHolder(path)?.pid, process.pid);
  rmSync(dir, { recursive: true });
  assert.equal(findHolder(dir)?.pid, process.pid);
  assert.equal(findHolder(join(room, "other")), null);
});

test("work on one folder is done by one at a time, and who waits can be stopped or has waited long enough", async () => {
  const path = join(room, "worked-on");
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const first = whileHolding(path, 10_000, undefined, async () => {
    begun.resolve();
    await end.promise;
    order.push("first");
  });
  await begun.promise;
  const second = whileHolding(path, 10_000, undefined, async () => void order.push("second"));
  const never = async () => assert.fail("the first is not done");
  await assert.rejects(whileHolding(path, 0, undefined, never), /another process is at work on/);
  await assert.rejects(whileHolding(path, 10_000, AbortSignal.abort(), never), /aborted/);
  end.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
});

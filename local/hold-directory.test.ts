import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeDirectory } from "./hold-directory.ts";

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

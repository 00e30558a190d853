import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";
import { Secret } from "./secret.ts";

test("a secret shows itself only to who asks for it", () => {
  const secret = new Secret("hunter2");
  assert.equal(secret.reveal(), "hunter2");
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true, depth: 9 }),
    format("%s %j %o", secret, secret, secret),
    new Error(`about ${secret}`).message,
    Object.values(secret).join(),
  ];
  for (const text of shown) assert.doesNotMatch(text, /hunter2/);
  assert.equal(JSON.stringify({ secret }), '{"secret":"[secret]"}');
  assert.equal(inspect({ secret }), "{ secret: [secret] }");
});

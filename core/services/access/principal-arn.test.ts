import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizePrincipalArn } from "./principal-arn.ts";

test("a role, with its path, and its sessions are one principal", () => {
  for (const [text, normal] of [
    ["arn:aws:iam::123456789012:role/Caller", "arn:aws:iam::123456789012:role/Caller"],
    ["arn:aws:iam::123456789012:role/a/b-c/Caller", "arn:aws:iam::123456789012:role/Caller"],
    [
      "arn:aws:sts::123456789012:assumed-role/Caller/i-0abc",
      "arn:aws:iam::123456789012:role/Caller",
    ],
    [
      "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Admin_0f/a.b+c@example.com",
      "arn:aws:iam::123456789012:role/AWSReservedSSO_Admin_0f",
    ],
    [
      "arn:aws-us-gov:sts::123456789012:assumed-role/Caller/x",
      "arn:aws-us-gov:iam::123456789012:role/Caller",
    ],
    ["arn:aws-cn:iam::123456789012:role/Caller", "arn:aws-cn:iam::123456789012:role/Caller"],
  ] as const)
    assert.equal(normalizePrincipalArn(text), normal);
});

test("users are exactly who they are", () => {
  for (const arn of [
    "arn:aws:iam::123456789012:user/ada",
    "arn:aws:iam::123456789012:user/team/ada",
    "arn:aws:sts::123456789012:federated-user/ada",
  ])
    assert.equal(normalizePrincipalArn(arn), arn);
});

test("what names no caller is refused, patterns above all", () => {
  for (const text of [
    "",
    "*",
    "arn:aws:iam::123456789012:role/*",
    "arn:aws:iam::*:role/Caller",
    "arn:aws:iam::123456789012:role/",
    "arn:aws:iam::123456789012:role",
    "arn:aws:iam::123456789012:root",
    "arn:aws:iam::123456789012:group/Callers",
    "arn:aws:iam::12345678901:role/Caller",
    "arn:aws:iam::123456789012:assumed-role/Caller/x",
    "arn:aws:sts::123456789012:role/Caller",
    "arn:aws:sts::123456789012:assumed-role/Caller",
    "arn:aws:sts::123456789012:assumed-role/a/b/c",
    "arn:aws:s3:::bucket",
    " arn:aws:iam::123456789012:role/Caller",
    "arn:aws:iam::123456789012:role/Caller\n",
    "arn:aws:iam::123456789012:role/Café",
    `arn:aws:iam::123456789012:role/${"x".repeat(129)}`,
    `arn:aws:iam::123456789012:role/${"x/".repeat(100_000)}a`,
  ])
    assert.equal(normalizePrincipalArn(text), null, text.slice(0, 80));
});

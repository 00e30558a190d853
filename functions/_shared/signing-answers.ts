/** What the API answers about signing secrets. */
import { z } from "zod";
import { answeredInstant } from "./answer-types.ts";

const signingSecret = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  createdAt: answeredInstant,
  expiresAt: answeredInstant
    .nullable()
    .describe("Until when calls carry a signature of it too; null for the newest."),
});

export const signingSecrets = z.strictObject({
  items: z
    .array(signingSecret)
    .describe(
      "Those that calls are signed with, newest first: none before the first call, three at most.",
    ),
});

export const rotatedSecret = z.strictObject({
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/)
    .describe("The new one. It is shown only now."),
  items: signingSecrets.shape.items,
});

const NEWEST = {
  id: "5f0c2a9be1d34710",
  fingerprint: "9b2f41c7",
  createdAt: "2026-12-01T09:00:00.000Z",
  expiresAt: null,
};
const BEFORE = {
  id: "a17be03355c9f204",
  fingerprint: "0d41e8aa",
  createdAt: "2026-06-01T09:00:00.000Z",
  expiresAt: "2026-12-02T09:00:00.000Z",
};

export const SIGNING_SECRETS_EXAMPLE = { items: [NEWEST, BEFORE] };
export const ROTATED_SECRET_EXAMPLE = {
  secret: "whsec_bm90IGEgc2VjcmV0IGF0IGFsbCwgYW4gZXhhbXBsZSE=",
  ...SIGNING_SECRETS_EXAMPLE,
};

/** What the API answers about call limits. */
import { z } from "zod";
import { LIMIT_WAITING_COUNTED_MAX } from "#core/domain/limits.ts";
import { answeredInstant, pageOf } from "./answer-types.ts";

export const limitAnswer = z.strictObject({
  endpoint: z
    .string()
    .nullable()
    .describe("Lower case, without the scheme's own port; null: all calls of the tenant."),
  concurrency: z.int().nullable().describe("As the tenant has set it."),
  perSecond: z.number().nullable().describe("As the tenant has set it."),
  maxConcurrency: z
    .int()
    .nullable()
    .describe("The operator's cap; null: none. What holds is the smaller."),
  maxPerSecond: z.number().nullable().describe("The operator's cap, likewise."),
  waiting: z
    .int()
    .min(0)
    .max(LIMIT_WAITING_COUNTED_MAX)
    .describe(
      `Jobs that are due and wait in its line, counted up to ${LIMIT_WAITING_COUNTED_MAX.toLocaleString("en")}.`,
    ),
  updatedAt: answeredInstant,
});

export const limitPage = pageOf(limitAnswer);

export const LIMIT_EXAMPLE = {
  endpoint: "https://api.example.com",
  concurrency: 5,
  perSecond: null,
  maxConcurrency: null,
  maxPerSecond: 100,
  waiting: 12,
  updatedAt: "2026-12-01T08:00:00.000Z",
};

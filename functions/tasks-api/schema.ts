/** What the tasks API takes: one strict schema per body and query. */
import { z } from "zod";
import {
  ATTEMPTS_MAX,
  DESCRIPTION_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  RETRY_DELAY_MS_MAX,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  TIMEOUT_MS_DEFAULT,
  TIMEOUT_MS_MAX,
  TIMEOUT_MS_MIN,
  UPCOMING_COUNT_MAX,
} from "#core/domain/limits.ts";
import { PRIORITIES, PRIORITY_DEFAULT } from "#core/domain/queue.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import { parseSchedule } from "#core/domain/schedule.ts";
import { CATCH_UPS } from "#core/domain/task.ts";
import { BODILESS_METHODS } from "#core/services/tasks/run-task.ts";
import type { TaskSettings } from "#core/services/tasks/task-settings.ts";
import { instant, line, wholeNumber } from "../_shared/field-types.ts";
import { body, bodyBase64, headers, refuseTwoBodies, url } from "../_shared/http-fields.ts";

const UPCOMING_COUNT_DEFAULT = 10;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const AT_EXAMPLE = 'must be text in ISO 8601, such as "2026-12-01T09:00:00Z"';

const scheduleShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("at"),
    at: z.string({ error: AT_EXAMPLE }),
    timezone: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal("cron"),
    expression: z.string(),
    timezone: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal("every"),
    seconds: z.number(),
    anchor: z.string().optional(),
  }),
]);

/** A schedule in canonical form, with its warnings. */
const parsedSchedule = scheduleShape.transform((shape, ctx) => {
  const parsed = parseSchedule(shape);
  if (parsed.kind === "ok") return parsed;
  for (const { field, message } of parsed.problems)
    ctx.addIssue({ code: "custom", path: field.split("."), message });
  return z.NEVER;
});

const request = z
  .strictObject({
    method: z.enum(METHODS).default("POST"),
    url,
    headers: headers.default({}),
    body: body.nullable().default(null),
    bodyBase64: bodyBase64.nullable().default(null),
  })
  .superRefine((value, ctx) => {
    refuseTwoBodies(value, ctx);
    const field = value.body === null ? "bodyBase64" : "body";
    if (value[field] === null || !BODILESS_METHODS.includes(value.method)) return;
    const message = `${value.method} requests carry no body`;
    ctx.addIssue({ code: "custom", path: [field], message });
  });

const delaySeconds = (min: number) =>
  z
    .number()
    .min(min)
    .max(RETRY_DELAY_MS_MAX / 1_000);

const retry = z.strictObject({
  maxAttempts: z.int().min(1).max(ATTEMPTS_MAX).default(RETRY_DEFAULT.maxAttempts),
  initialDelaySeconds: delaySeconds(0).default(RETRY_DEFAULT.initialDelaySeconds),
  factor: z.number().min(1).max(100).default(RETRY_DEFAULT.factor),
  maxDelaySeconds: delaySeconds(1).default(RETRY_DEFAULT.maxDelaySeconds),
  jitter: z.number().min(0).max(1).default(RETRY_DEFAULT.jitter),
});

const description = z
  .string()
  .max(DESCRIPTION_LENGTH_MAX)
  .refine((text) => text.isWellFormed() && !text.includes("\0"), "is not valid Unicode text");

const tags = z
  .array(line(TAG_LENGTH_MAX))
  .max(TAGS_MAX)
  .superRefine((all, ctx) => {
    all.forEach((tag, at) => {
      if (all.indexOf(tag) !== at)
        ctx.addIssue({ code: "custom", path: [at], message: "is given twice" });
    });
  });

/** A task as create takes it, and as a PATCH has to leave it. */
export const taskSchema = z
  .strictObject({
    name: line(NAME_LENGTH_MAX).nullable().default(null),
    description: description.nullable().default(null),
    tags: tags.default([]),
    schedule: parsedSchedule,
    priority: z.enum(PRIORITIES).default(PRIORITY_DEFAULT),
    request,
    timeoutSeconds: z
      .int()
      .min(TIMEOUT_MS_MIN / 1_000)
      .max(TIMEOUT_MS_MAX / 1_000)
      .default(TIMEOUT_MS_DEFAULT / 1_000),
    retry: retry.prefault({}),
    catchUp: z.enum(CATCH_UPS).default("all"),
    startAt: instant.nullable().default(null),
    endAt: instant.nullable().default(null),
  })
  .superRefine(({ startAt, endAt }, ctx) => {
    if (startAt !== null && endAt !== null && endAt <= startAt)
      ctx.addIssue({ code: "custom", path: ["endAt"], message: "must be later than startAt" });
  })
  .transform(
    ({ schedule, startAt, endAt, timeoutSeconds, ...rest }): TaskSettings => ({
      ...rest,
      schedule: schedule.schedule,
      startAtMs: startAt,
      endAtMs: endAt,
      timeoutMs: timeoutSeconds * 1_000,
    }),
  );

/** `/run` takes nothing, `{}`, or what is to be laid over the version's request. */
export const runSchema = z
  .strictObject({
    request: z
      .strictObject({
        headers: headers.optional(),
        body: body.optional(),
        bodyBase64: bodyBase64.optional(),
      })
      .superRefine(refuseTwoBodies)
      .optional(),
  })
  .default({});

/** Pause and resume take nothing; an empty object is nothing too. */
export const nothingSchema = z.strictObject({}).optional();

export const listTasksQuery = z.strictObject({
  status: z.enum(["active", "paused", "completed"]).optional(),
  priority: z.enum(PRIORITIES).optional(),
  tag: line(TAG_LENGTH_MAX).optional(),
  limit: wholeNumber(1, PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  cursor: z.string().optional(),
});

export const upcomingQuery = z.strictObject({
  count: wholeNumber(1, UPCOMING_COUNT_MAX).default(UPCOMING_COUNT_DEFAULT),
});

export const previewSchema = z.strictObject({
  schedule: parsedSchedule,
  count: z.int().min(1).max(UPCOMING_COUNT_MAX).default(UPCOMING_COUNT_DEFAULT),
  after: instant.nullable().default(null),
});

export const noQuery = z.strictObject({});

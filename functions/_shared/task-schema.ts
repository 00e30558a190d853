/** What the tasks API takes: one strict schema per body and query. They validate, and the OpenAPI document is made from them. */

import { z } from "zod";
import {
  ATTEMPTS_MAX,
  BULK_TASKS_MAX,
  DESCRIPTION_LENGTH_MAX,
  EVERY_SECONDS_MAX,
  NAME_LENGTH_MAX,
  RETRY_DELAY_MS_MAX,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  TIMEOUT_MS_DEFAULT,
  TIMEOUT_MS_MAX,
  TIMEOUT_MS_MIN,
  UPCOMING_COUNT_MAX,
} from "#core/domain/limits.ts";
import { BODILESS_METHODS } from "#core/domain/payload-faults.ts";
import { PRIORITIES, PRIORITY_DEFAULT } from "#core/domain/queue.ts";
import { RETRY_DEFAULT, RETRY_ON, type RetryPolicy } from "#core/domain/retry-policy.ts";
import { parseSchedule } from "#core/domain/schedule.ts";
import { CATCH_UPS } from "#core/domain/task.ts";
import type { TaskSettings } from "#core/services/tasks/task-settings.ts";
import { instant, line, pageQuery, timezone, wholeNumber } from "./field-types.ts";
import { body, bodyBase64, headers, headersPatch, refuseTwoBodies, url } from "./http-fields.ts";
import {
  auth,
  namedSecrets,
  refuseHeaderClashes,
  secretHeaders,
  secretHeadersPatch,
  secretsOf,
} from "./secret-fields.ts";

const UPCOMING_COUNT_DEFAULT = 10;
const RETRY_ON_MAX = 20;
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const AT_EXAMPLE = 'must be text in ISO 8601, such as "2026-12-01T09:00:00Z"';

const scheduleShape = z.discriminatedUnion("type", [
  z
    .strictObject({
      type: z.literal("at"),
      at: z
        .string({ error: AT_EXAMPLE })
        .describe("An instant with its offset, or a local time beside `timezone`.")
        .meta({ examples: ["2026-12-01T09:00:00Z"] }),
      timezone: timezone.optional(),
    })
    .describe(
      "Once. A time in the past runs at once, on create only (PUT by name: of the last 24 hours). A task that has ended is removed 45 days after its last run or edit: the same POST makes, and runs, it again by then; use PUT by name for what is repeated.",
    ),
  z
    .strictObject({
      type: z.literal("cron"),
      expression: z
        .string()
        .describe(
          "5 fields, or 6 with seconds first; names, ranges, steps, lists, `L`, `#`, `?`, and `@daily` and the like.",
        )
        .meta({ examples: ["0 9 * * MON-FRI"] }),
      timezone: timezone.optional(),
    })
    .describe(
      "A time that a clock change skips runs once, right after; one that it repeats runs once. Fields that begin with `*` follow real time.",
    ),
  z
    .strictObject({
      type: z.literal("every"),
      seconds: z
        .number()
        .describe("A whole number.")
        .meta({ type: "integer", minimum: 1, maximum: EVERY_SECONDS_MAX, examples: [900] }),
      anchor: z
        .string()
        .optional()
        .describe(
          "An instant from which the runs are counted, both ways; the epoch if none is given.",
        )
        .meta({ format: "date-time" }),
    })
    .describe("At whole multiples of `seconds` from `anchor`, whatever clocks do."),
]);

/** A schedule in canonical form, with its warnings. */
const parsedSchedule = scheduleShape.transform((shape, ctx) => {
  const parsed = parseSchedule(shape);
  if (parsed.kind === "ok") return parsed;
  for (const { field, message } of parsed.problems)
    ctx.addIssue({ code: "custom", path: field.split("."), message });
  return z.NEVER;
});

const method = z.enum(METHODS);

const requestSchema = z
  .strictObject({
    method: method.default("POST"),
    url,
    headers: headers.prefault({}),
    secretHeaders: secretHeaders.optional(),
    auth: auth.nullish(),
    body: body.nullable().default(null),
    bodyBase64: bodyBase64.nullable().default(null),
  })
  .superRefine((value, ctx) => {
    refuseTwoBodies(value, ctx);
    refuseHeaderClashes(value, ctx);
    const field = value.body === null ? "bodyBase64" : "body";
    if (value[field] === null || !BODILESS_METHODS.includes(value.method)) return;
    const message = `${value.method} requests carry no body`;
    ctx.addIssue({ code: "custom", path: [field], message });
  });

function refuseRepeats(all: readonly string[], ctx: z.RefinementCtx): void {
  all.forEach((item, at) => {
    if (all.indexOf(item) !== at)
      ctx.addIssue({ code: "custom", path: [at], message: "is given twice" });
  });
}

const delaySeconds = (min: number) =>
  z
    .number()
    .min(min)
    .max(RETRY_DELAY_MS_MAX / 1_000);

const retryFields = {
  maxAttempts: z
    .int()
    .min(1)
    .max(ATTEMPTS_MAX)
    .describe("Calls altogether, the first one included."),
  initialDelaySeconds: delaySeconds(0).describe("Between the first call and the second."),
  factor: z.number().min(1).max(100).describe("By which each further delay is longer."),
  maxDelaySeconds: delaySeconds(1).describe(
    "No delay is longer; a `Retry-After` of the endpoint is honoured up to it.",
  ),
  jitter: z
    .number()
    .min(0)
    .max(1)
    .describe("Share of a delay by which it varies at random, both ways."),
  retryOn: z
    .array(
      z.string().regex(RETRY_ON, {
        error:
          'must be network, timeout, 3xx, 4xx, 5xx or a status such as "429"; never 2xx or 410',
      }),
    )
    .max(RETRY_ON_MAX)
    .superRefine(refuseRepeats)
    .describe(
      "After which failures another call is made: `timeout`, `network` (no answer for any other reason), `3xx`, `4xx`, `5xx`, single statuses. Any other ends the job. null: after all of them. 410, an answer with `Webhook-Stop: true`, and secrets that are for another origin by now, always end it.",
    )
    .meta({ uniqueItems: true, examples: [["network", "timeout", "5xx", "429"]] }),
};

const retrySchema = z
  .strictObject({
    maxAttempts: retryFields.maxAttempts.default(RETRY_DEFAULT.maxAttempts),
    initialDelaySeconds: retryFields.initialDelaySeconds.default(RETRY_DEFAULT.initialDelaySeconds),
    factor: retryFields.factor.default(RETRY_DEFAULT.factor),
    maxDelaySeconds: retryFields.maxDelaySeconds.default(RETRY_DEFAULT.maxDelaySeconds),
    jitter: retryFields.jitter.default(RETRY_DEFAULT.jitter),
    retryOn: retryFields.retryOn.nullable().default(null),
  })
  .transform(
    ({ retryOn, ...policy }): RetryPolicy => (retryOn === null ? policy : { ...policy, retryOn }),
  );

/** Programs drop `.` and `..` from a path, escaped too: a PUT by such a name would arrive elsewhere. */
export const taskName = line(NAME_LENGTH_MAX).refine(
  (name) => name !== "." && name !== "..",
  "must not be . or ..",
);

const taskFields = {
  name: taskName.describe(
    "Unique among the tenant's tasks; not `.` or `..`. A task without one is called by its id.",
  ),
  description: z
    .string()
    .max(DESCRIPTION_LENGTH_MAX)
    .refine((text) => text.isWellFormed() && !text.includes("\0"), "is not valid Unicode text"),
  tags: z
    .array(line(TAG_LENGTH_MAX))
    .max(TAGS_MAX)
    .superRefine(refuseRepeats)
    .meta({ uniqueItems: true }),
  priority: z
    .enum(PRIORITIES)
    .describe(
      "What is more urgent goes first; the least urgent still goes. 99 % of first calls are promised within 1 s (critical), 20 s (high), 3 min (normal), 20 min (low).",
    ),
  timeoutSeconds: z
    .int()
    .min(TIMEOUT_MS_MIN / 1_000)
    .max(TIMEOUT_MS_MAX / 1_000)
    .describe("For a whole call, from connecting to the last byte of the answer."),
  captureResponse: z
    .boolean()
    .describe("Whether the first bytes of each answer are kept with its attempt."),
  catchUp: z
    .enum(CATCH_UPS)
    .describe("Which of the runs that are missed by more than a minute are made up for."),
  startAt: instant
    .nullable()
    .describe("No run before it, apart from those that an edit finds planned for the next 30 s."),
  endAt: instant
    .nullable()
    .describe(
      "No run at it or after, apart from those that an edit finds planned for the next 30 s.",
    ),
};

/** A task as create takes it, and as a PATCH has to leave it. */
export const taskSchema = z
  .strictObject({
    name: taskFields.name.nullable().default(null),
    description: taskFields.description.nullable().default(null),
    tags: taskFields.tags.default([]),
    schedule: parsedSchedule,
    priority: taskFields.priority.default(PRIORITY_DEFAULT),
    request: requestSchema,
    timeoutSeconds: taskFields.timeoutSeconds.default(TIMEOUT_MS_DEFAULT / 1_000),
    retry: retrySchema.prefault({}).describe("What happens when a call fails."),
    captureResponse: taskFields.captureResponse.default(true),
    catchUp: taskFields.catchUp.default("all"),
    startAt: taskFields.startAt.default(null),
    endAt: taskFields.endAt.default(null),
  })
  .superRefine(({ startAt, endAt }, ctx) => {
    if (startAt !== null && endAt !== null && endAt <= startAt)
      ctx.addIssue({ code: "custom", path: ["endAt"], message: "must be later than startAt" });
  })
  .transform(
    ({
      schedule,
      startAt,
      endAt,
      timeoutSeconds,
      request: { secretHeaders: given, auth: credential, ...request },
      captureResponse,
      ...rest
    }): TaskSettings => ({
      ...rest,
      ...secretSettings({ secretHeaders: given, auth: credential }),
      request: {
        ...request,
        ...namedSecrets({ secretHeaders: given, auth: credential }),
        ...(captureResponse ? {} : { captureResponse }),
      },
      schedule: schedule.schedule,
      startAtMs: startAt,
      endAtMs: endAt,
      timeoutMs: timeoutSeconds * 1_000,
    }),
  );

function secretSettings(given: Parameters<typeof secretsOf>[0]): Pick<TaskSettings, "secrets"> {
  const secrets = secretsOf(given);
  return Object.keys(secrets).length === 0 ? {} : { secrets };
}

/** Each item is checked by itself, by taskSchema: one that is not valid stands in nobody's way. */
export const bulkSchema = z.strictObject({
  items: z.array(z.unknown()).min(1).max(BULK_TASKS_MAX),
});

/** The same as it is documented. */
export const bulkInput = z.strictObject({
  items: z
    .array(taskSchema)
    .min(1)
    .max(BULK_TASKS_MAX)
    .describe("Tasks, each as create takes it and checked by itself; 4 MB altogether."),
});

/** A JSON merge patch of a task by itself: null goes back to the default, also of a header. */
export const taskPatchSchema = z.strictObject({
  name: taskFields.name.nullish(),
  description: taskFields.description.nullish(),
  tags: taskFields.tags.nullish(),
  schedule: parsedSchedule.optional(),
  priority: taskFields.priority.nullish(),
  request: z
    .strictObject({
      method: method.nullish(),
      url: url.optional(),
      headers: headersPatch.nullish(),
      secretHeaders: secretHeadersPatch.nullish(),
      auth: auth.nullish(),
      body: body.nullish(),
      bodyBase64: bodyBase64.nullish(),
    })
    .optional(),
  timeoutSeconds: taskFields.timeoutSeconds.nullish(),
  retry: z
    .strictObject({
      maxAttempts: retryFields.maxAttempts.nullish(),
      initialDelaySeconds: retryFields.initialDelaySeconds.nullish(),
      factor: retryFields.factor.nullish(),
      maxDelaySeconds: retryFields.maxDelaySeconds.nullish(),
      jitter: retryFields.jitter.nullish(),
      retryOn: retryFields.retryOn.nullish(),
    })
    .nullish(),
  captureResponse: taskFields.captureResponse.nullish(),
  catchUp: taskFields.catchUp.nullish(),
  startAt: taskFields.startAt.optional(),
  endAt: taskFields.endAt.optional(),
} satisfies Record<keyof z.input<typeof taskSchema>, z.ZodType>);

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
  .prefault({});

export const listTasksQuery = z.strictObject({
  status: z.enum(["active", "paused", "completed"]).optional(),
  priority: z.enum(PRIORITIES).optional(),
  tag: line(TAG_LENGTH_MAX).optional(),
  ...pageQuery,
});

export const upcomingQuery = z.strictObject({
  count: wholeNumber(1, UPCOMING_COUNT_MAX, UPCOMING_COUNT_DEFAULT),
});

export const previewSchema = z.strictObject({
  schedule: parsedSchedule,
  count: z.int().min(1).max(UPCOMING_COUNT_MAX).default(UPCOMING_COUNT_DEFAULT),
  after: instant.nullable().default(null),
});

/** What the tasks API answers. */
import { z } from "zod";
import { PRIORITIES } from "#core/domain/queue.ts";
import { CATCH_UPS } from "#core/domain/task.ts";
import { answeredInstant, pageOf, problemSchema, taskIdText } from "./answer-types.ts";
import { METHODS } from "./task-schema.ts";

const answeredSchedule = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("at"), at: z.string(), timezone: z.string().optional() }),
    z.strictObject({ type: z.literal("cron"), expression: z.string(), timezone: z.string() }),
    z.strictObject({ type: z.literal("every"), seconds: z.int(), anchor: answeredInstant }),
  ])
  .describe("In canonical form: with the zone's own name, and every default filled in.");

const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{8}$/)
  .optional()
  .describe(
    "The same for the same secret of a tenant. Absent in jobs, which send what it is by then.",
  );

const requestFields = {
  method: z.enum(METHODS),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  secretHeaders: z
    .record(z.string(), z.strictObject({ fingerprint }))
    .optional()
    .describe("Absent where there is none, and in jobs that are archived."),
  auth: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("bearer"), fingerprint }),
      z.strictObject({ type: z.literal("basic"), username: z.string(), fingerprint }),
      z.strictObject({
        type: z.literal("oauth2"),
        tokenUrl: z.string(),
        clientId: z.string(),
        scope: z.string().nullable(),
        fingerprint,
      }),
    ])
    .optional()
    .describe("Absent where there is none, and in jobs that are archived."),
};

export const answeredRequest = z.strictObject({
  ...requestFields,
  body: z.string().nullable(),
  bodyBase64: z.string().optional().describe("Only where the body is binary; `body` is then null."),
});

/** Lists give the body's size instead of the body. */
export const listedRequest = z.strictObject({ ...requestFields, bodyBytes: z.int().min(0) });

const answeredRetry = z.strictObject({
  maxAttempts: z.int(),
  initialDelaySeconds: z.number(),
  factor: z.number(),
  maxDelaySeconds: z.number(),
  jitter: z.number(),
  retryOn: z
    .array(z.string())
    .nullable()
    .describe("null: every failure is retried but 410 and an answer with `Webhook-Stop: true`."),
});

const taskFields = {
  id: taskIdText,
  name: z.string(),
  description: z.string().nullable(),
  tags: z.array(z.string()),
  status: z
    .enum(["active", "paused", "completed"])
    .describe(
      "A task is completed when its schedule has no run left to be planned: the last one may still be ahead, by 30 s or, at peaks, 5 min.",
    ),
  schedule: answeredSchedule,
  priority: z.enum(PRIORITIES),
  timeoutSeconds: z.int(),
  retry: answeredRetry,
  captureResponse: z.boolean(),
  catchUp: z.enum(CATCH_UPS),
  startAt: answeredInstant.nullable(),
  endAt: answeredInstant.nullable(),
  nextRunAt: answeredInstant
    .nullable()
    .describe("The next run that is not planned yet; null when there is none, or while paused."),
  error: z.string().nullable().describe("Why its schedule cannot go on."),
  version: z.int().min(1).describe("Grows with every change by a caller, and the ETag with it."),
  createdAt: answeredInstant,
  updatedAt: answeredInstant,
};

export const taskAnswer = z.strictObject({ ...taskFields, request: answeredRequest });
export const listedTask = z.strictObject({ ...taskFields, request: listedRequest });
export const taskPage = pageOf(listedTask);

export const bulkAnswer = z.strictObject({
  items: z
    .array(
      z.strictObject({
        status: z.int().describe("What create would have answered: 201, 409, 413, 422 or 429."),
        task: taskAnswer.optional(),
        problem: problemSchema.optional(),
      }),
    )
    .describe("In the order of the request; each has `task` or `problem`."),
});

export const occurrencesAnswer = z.strictObject({
  items: z.array(
    z.strictObject({
      at: answeredInstant,
      local: z
        .string()
        .describe("The same instant on the clocks of the schedule's zone, with their offset."),
    }),
  ),
  warnings: z.array(z.string()).describe("What one should know about the schedule."),
});

export const healthAnswer = z.strictObject({
  status: z.literal("ok"),
  database: z.literal("ok"),
});

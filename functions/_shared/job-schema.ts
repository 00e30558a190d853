/** What the jobs API takes. */
import { z } from "zod";
import { makeTaskId, parseTaskId } from "#core/domain/ids.ts";
import { JOB_STATUSES } from "#core/domain/job.ts";
import { RETRY_AHEAD_MS_MAX, RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import { taskIdText } from "./answer-types.ts";
import { instant, pageQuery, queryInstant } from "./field-types.ts";

const RETRIES_PER_SECOND_MIN = (RETRY_GROUP_MAX * 1_000) / RETRY_AHEAD_MS_MAX;
const RETRIES_PER_SECOND_MAX = 1_000;
const RETRIES_PER_SECOND_DEFAULT = 10;
/** The id of no task: none is made at the epoch. */
const NO_TASK = makeTaskId(0, 0, new Uint8Array(8));

/** One status or several, separated by commas or given repeatedly. */
const statuses = z
  .string()
  .transform((text, ctx) => {
    const asked = text.split(",").map((name) => name.trim());
    const known = JOB_STATUSES.filter((status) => asked.includes(status));
    if (asked.every((name) => JOB_STATUSES.some((status) => status === name))) return known;
    ctx.addIssue({ code: "custom", message: `must be one of ${JOB_STATUSES.join(", ")}` });
    return z.NEVER;
  })
  .meta({ type: "array", items: { type: "string", enum: [...JOB_STATUSES] }, minItems: 1 });

export const taskJobsQuery = z
  .strictObject({
    status: statuses.optional(),
    ...spanOf(queryInstant, "scheduledAt"),
    ...pageQuery,
  })
  .superRefine(refuseEmptySpan);

function spanOf(type: typeof instant, field: string) {
  return {
    from: type.optional().describe(`On \`${field}\`, inclusive.`),
    to: type.optional().describe(`On \`${field}\`, exclusive.`),
  };
}

function refuseEmptySpan(
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  ctx: z.RefinementCtx,
): void {
  if (from !== undefined && to !== undefined && to <= from)
    ctx.addIssue({ code: "custom", path: ["to"], message: "must be later than from" });
}

/** A well-formed id that is none of ours names no task: it matches nothing. */
const taskId = taskIdText.transform((text) => parseTaskId(text) ?? NO_TASK);

/** What selects dead letters; times are of their death. */
const deadLetterFilter = (type: typeof instant) => ({
  taskId: taskId.optional().describe("Of this task only."),
  ...spanOf(type, "diedAt"),
});

export const deadLettersQuery = z
  .strictObject({ ...deadLetterFilter(queryInstant), ...pageQuery })
  .superRefine(refuseEmptySpan);

export const retryDeadLettersSchema = z
  .strictObject({
    ...deadLetterFilter(instant),
    perSecond: z
      .number()
      .min(RETRIES_PER_SECOND_MIN)
      .max(RETRIES_PER_SECOND_MAX)
      .default(RETRIES_PER_SECOND_DEFAULT)
      .describe("How many of them start each second."),
    limit: z
      .int()
      .min(1)
      .max(RETRY_GROUP_MAX)
      .default(RETRY_GROUP_MAX)
      .describe("At most so many, those that died last."),
  })
  .superRefine(refuseEmptySpan)
  .prefault({});

/** Types of fields that several answers share. */
import { z } from "zod";

/** As isoInstant writes it. */
export const answeredInstant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time", examples: ["2026-12-01T08:00:00.000Z"] });

const CROCKFORD = "0-9a-hjkmnp-tv-z";
export const taskIdText = z
  .string()
  .regex(new RegExp(`^task_[${CROCKFORD}]{26}$`), "is not the id of a task")
  .meta({ examples: ["task_01kb3q5fz8e8vtm0d4xq9rw2ys"] });
export const jobIdText = z
  .string()
  .regex(new RegExp(`^job_[${CROCKFORD}]{39}$`), "is not the id of a job")
  .meta({ examples: ["job_0000csxp5w00060djc17y74t3ph80t6vxhdp80g"] });

const nextCursor = z
  .string()
  .nullable()
  .describe("What to pass as `cursor` for the page after; null on the last one.");

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.strictObject({ items: z.array(item), nextCursor });
}

/** RFC 9457 problem details: every error. */
export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe("In words, for this request."),
    errors: z
      .array(
        z.strictObject({
          field: z.string().describe("Dotted, as in `schedule.expression`; empty for the whole."),
          message: z.string(),
        }),
      )
      .optional()
      .describe("Field by field what is wrong, with 422 and 413."),
    taskId: taskIdText
      .optional()
      .describe("With 409, when the name is taken: the task that has it."),
    historyAvailable: z
      .literal(false)
      .optional()
      .describe("With 503, when it is history that is away."),
  })
  .describe("RFC 9457 problem details.");

/** What the jobs API takes. */
import { z } from "zod";
import { JOB_STATUSES } from "#core/domain/job.ts";
import { instant, pageQuery } from "./field-types.ts";

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
    from: instant.optional().describe("On `scheduledAt`, inclusive."),
    to: instant.optional().describe("On `scheduledAt`, exclusive."),
    ...pageQuery,
  })
  .superRefine(({ from, to }, ctx) => {
    if (from !== undefined && to !== undefined && to <= from)
      ctx.addIssue({ code: "custom", path: ["to"], message: "must be later than from" });
  });

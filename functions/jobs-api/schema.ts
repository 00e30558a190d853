/** What the jobs API takes. */
import { z } from "zod";
import { JOB_STATUSES } from "#core/domain/job.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "#core/domain/limits.ts";
import { instant, wholeNumber } from "../_shared/field-types.ts";

/** One status or several, separated by commas or given repeatedly. */
const statuses = z.string().transform((text, ctx) => {
  const asked = text.split(",").map((name) => name.trim());
  const known = JOB_STATUSES.filter((status) => asked.includes(status));
  if (asked.every((name) => JOB_STATUSES.some((status) => status === name))) return known;
  ctx.addIssue({ code: "custom", message: `must be one of ${JOB_STATUSES.join(", ")}` });
  return z.NEVER;
});

export const taskJobsQuery = z
  .strictObject({
    status: statuses.optional(),
    from: instant.optional(),
    to: instant.optional(),
    limit: wholeNumber(1, PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
    cursor: z.string().optional(),
  })
  .superRefine(({ from, to }, ctx) => {
    if (from !== undefined && to !== undefined && to <= from)
      ctx.addIssue({ code: "custom", path: ["to"], message: "must be later than from" });
  });

export const noQuery = z.strictObject({});

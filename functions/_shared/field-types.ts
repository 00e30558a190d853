/** Field types that several schemas share. Each carries what OpenAPI needs to describe it. */
import { z } from "zod";
import { LAST_INSTANT_MS } from "#core/domain/cron.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "#core/domain/limits.ts";
import { readIsoTime } from "#core/domain/schedule-instant.ts";

/** One line of text: well-formed Unicode, nothing invisible, no blanks around it. */
export function line(lengthMax: number) {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .superRefine((text, ctx) => {
      const message = faultOfLine(text);
      if (message !== null) ctx.addIssue({ code: "custom", message });
    });
}

function faultOfLine(text: string): string | null {
  if (!text.isWellFormed()) return "is not valid Unicode";
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) return "must not contain control characters";
  return text.trim() === text ? null : "must not begin or end with blanks";
}

/** An instant with its offset, as epoch ms. */
export const instant = z
  .string()
  .transform(readInstant)
  .meta({
    format: "date-time",
    examples: ["2026-12-01T09:00:00Z"],
  });

/** The same in a query, where a `+` that was sent as it is has become a blank. */
export const queryInstant = z
  .string()
  .transform((text, ctx) => readInstant(text.replace(/(T\S+) (\d\d:\d\d)$/i, "$1+$2"), ctx))
  .meta({ format: "date-time", examples: ["2026-12-01T09:00:00Z"] });

function readInstant(text: string, ctx: z.RefinementCtx): number {
  const time = readIsoTime(text);
  const atMs = time === null || time.offsetMs === null ? Number.NaN : time.wallMs - time.offsetMs;
  if (atMs >= 0 && atMs <= LAST_INSTANT_MS) return atMs;
  const message = Number.isNaN(atMs)
    ? 'must be an instant with its offset, such as "2026-12-01T09:00:00Z"'
    : "must be from 1970 to 9999";
  ctx.addIssue({ code: "custom", message });
  return z.NEVER;
}

export const timezone = z
  .string()
  .describe("Any IANA name; UTC if none is given.")
  .meta({ examples: ["Europe/Madrid"] });

/** A whole number in a query string; `fallback` when it is not given. */
export function wholeNumber(min: number, max: number, fallback: number) {
  return z
    .string()
    .transform((text, ctx) => {
      const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      ctx.addIssue({ code: "custom", message: `must be a whole number from ${min} to ${max}` });
      return z.NEVER;
    })
    .default(fallback)
    .meta({ type: "integer", minimum: min, maximum: max, default: fallback });
}

/** What every list takes beside its filter. */
export const pageQuery = {
  limit: wholeNumber(1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT).describe(
    "Items of one page; a page ends at 4 MB too.",
  ),
  cursor: z
    .string()
    .optional()
    .describe("`nextCursor` of the page before; it belongs to its list and filter."),
};

export const noQuery = z.strictObject({});

/** Of requests that take nothing; an empty object is nothing too. */
export const nothingSchema = z.strictObject({}).optional();

/** Field types that several schemas share. Each carries what OpenAPI needs to describe it. */
import { z } from "zod";
import { readIsoTime } from "#core/domain/schedule-instant.ts";

const YEAR_9999_END_MS = 253_402_300_799_999;

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
  .transform((text, ctx) => {
    const time = readIsoTime(text);
    const atMs = time === null || time.offsetMs === null ? Number.NaN : time.wallMs - time.offsetMs;
    if (atMs >= 0 && atMs <= YEAR_9999_END_MS) return atMs;
    const message = Number.isNaN(atMs)
      ? 'must be an instant with its offset, such as "2026-12-01T09:00:00Z"'
      : "must be from 1970 to 9999";
    ctx.addIssue({ code: "custom", message });
    return z.NEVER;
  })
  .meta({ format: "date-time" });

/** A whole number in a query string. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .transform((text, ctx) => {
      const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      ctx.addIssue({ code: "custom", message: `must be a whole number from ${min} to ${max}` });
      return z.NEVER;
    })
    .meta({ minimum: min, maximum: max });
}

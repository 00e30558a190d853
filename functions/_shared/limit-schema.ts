/** What the API takes about call limits. */
import { z } from "zod";
import {
  LIMIT_CONCURRENCY_MAX,
  LIMIT_PER_SECOND_MAX,
  LIMIT_SPACING_SECONDS_MAX,
} from "#core/domain/limits.ts";
import { pageQuery } from "./field-types.ts";
import { faultOfUrl } from "./http-fields.ts";

const endpoint = z
  .string()
  .superRefine((text, ctx) => {
    const message = faultOfEndpoint(text);
    if (message !== null) ctx.addIssue({ code: "custom", message });
  })
  .meta({ examples: ["https://api.example.com"] });

function faultOfEndpoint(text: string): string | null {
  const fault = faultOfUrl(text);
  if (fault !== null) return fault;
  const { pathname, search, hash } = new URL(text);
  return pathname !== "/" || search !== "" || hash !== "" || /[?#]/.test(text)
    ? "must be scheme, host and port only, such as https://api.example.com"
    : null;
}

const NEEDS_ONE = "give concurrency, perSecond or both; DELETE takes a limit away";

export const limitSchema = z
  .strictObject({
    endpoint: endpoint
      .nullable()
      .describe(
        "Scheme, host and port of the URLs that it holds for; null: all calls of the tenant.",
      ),
    concurrency: z
      .int()
      .min(1)
      .max(LIMIT_CONCURRENCY_MAX)
      .nullable()
      .default(null)
      .describe("Calls under way at once; null: any number."),
    perSecond: z
      .number()
      .min(1 / LIMIT_SPACING_SECONDS_MAX)
      .max(LIMIT_PER_SECOND_MAX)
      .nullable()
      .default(null)
      .describe("Calls that start in a second, evenly spaced; null: any number."),
  })
  .superRefine(({ concurrency, perSecond }, ctx) => {
    if (concurrency === null && perSecond === null)
      ctx.addIssue({ code: "custom", path: ["concurrency"], message: NEEDS_ONE });
  });

export const listLimitsQuery = z.strictObject(pageQuery);

export const deleteLimitQuery = z.strictObject({
  endpoint: endpoint.optional().describe("As it was set; left out: the limit of all calls."),
});

import type { JsonSchema } from "./openapi-types.ts";

/** A schema as it was made from zod's, with what reads and promises better. */
export function tidySchema(schema: JsonSchema, io: "input" | "output"): JsonSchema {
  const tidy: JsonSchema = { ...schema };
  // Callers are told that answers may get new fields, so the document does not rule them out; our tests do.
  if (io === "output" && tidy.additionalProperties === false) delete tidy.additionalProperties;
  else if (typeof tidy.additionalProperties === "object")
    tidy.additionalProperties = tidySchema(tidy.additionalProperties, io);
  if (tidy.items !== undefined) tidy.items = tidySchema(tidy.items, io);
  if (tidy.oneOf !== undefined) tidy.oneOf = tidy.oneOf.map((one) => tidySchema(one, io));
  if (tidy.anyOf !== undefined) tidy.anyOf = tidy.anyOf.map((one) => tidySchema(one, io));
  if (tidy.properties !== undefined)
    tidy.properties = Object.fromEntries(
      Object.entries(tidy.properties).map(([name, field]) => [name, tidySchema(field, io)]),
    );
  return liftDescription(tidy);
}

/** What is said of a field that can be null is said of the field, not of one of its alternatives. */
function liftDescription(schema: JsonSchema): JsonSchema {
  const [first, second, ...others] = schema.anyOf ?? [];
  if (first?.description === undefined || schema.description !== undefined) return schema;
  if (second?.type !== "null" || others.length > 0) return schema;
  const { description, ...rest } = first;
  return { ...schema, description, anyOf: [rest, second] };
}

/** JSON Schema as HTML: one row per field, what is inside below it. */
import { escapeHtml, inlineCode } from "./html-text.ts";
import type { JsonSchema } from "./openapi-types.ts";

const SCHEMAS = "#/components/schemas/";

export function renderSchema(schema: JsonSchema): string {
  const { description } = schema;
  const said = description === undefined ? "" : `<p>${inlineCode(description)}</p>`;
  return `<span class="type">${kindOf(schema)}</span>${boundsOf(schema)}${said}${insideOf(schema)}`;
}

/** What a value is, in a word or two. */
function kindOf(schema: JsonSchema): string {
  const { $ref, type, enum: values, items } = schema;
  if ($ref !== undefined) {
    const name = escapeHtml($ref.slice(SCHEMAS.length));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return `<code>${escapeHtml(JSON.stringify(schema.const))}</code>`;
  if (values !== undefined)
    return values.map((value) => `<code>${escapeHtml(JSON.stringify(value))}</code>`).join(" | ");
  const options = optionsOf(schema);
  if (options !== null) {
    const words = [...new Set(options.map(kindOf))];
    return words.join(" | ");
  }
  if (items !== undefined) return `list of ${kindOf(items)}`;
  return escapeHtml([type ?? "anything"].flat().join(" | "));
}

function optionsOf({ oneOf, anyOf }: JsonSchema): JsonSchema[] | null {
  return oneOf ?? anyOf ?? null;
}

function boundsOf(schema: JsonSchema): string {
  const bounds: string[] = [];
  const { format, minimum, maximum, minLength, maxLength, maxItems, pattern } = schema;
  if (format !== undefined) bounds.push(escapeHtml(format));
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    bounds.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER)
    bounds.push(`at least ${minimum}`);
  if (maxLength !== undefined) bounds.push(`${minLength ?? 0} to ${maxLength} characters`);
  if (maxItems !== undefined) bounds.push(`at most ${maxItems}`);
  if (pattern !== undefined && format === undefined)
    bounds.push(`<code>${escapeHtml(pattern)}</code>`);
  if (schema.default !== undefined)
    bounds.push(`default <code>${escapeHtml(JSON.stringify(schema.default))}</code>`);
  return bounds.length === 0 ? "" : ` <small>${bounds.join(", ")}</small>`;
}

/** The fields of what is inside: of an object, of a list's items, of each alternative. */
function insideOf(schema: JsonSchema): string {
  const { properties, items, additionalProperties } = schema;
  if (properties !== undefined) return renderFields(properties, schema.required ?? []);
  if (items !== undefined) return insideOf(items);
  if (typeof additionalProperties === "object")
    return `<p><small>any name: ${kindOf(additionalProperties)}</small></p>`;
  return (optionsOf(schema) ?? [])
    .filter((option) => option.properties !== undefined || option.items !== undefined)
    .map((option) => `<div class="option">${renderSchema(option)}</div>`)
    .join("");
}

function renderFields(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): string {
  const rows = Object.entries(properties)
    .map(([name, field]) => {
      const mark = required.includes(name) ? "" : "<small>optional</small>";
      return `<tr><td><code>${escapeHtml(name)}</code> ${mark}</td><td>${renderSchema(field)}</td></tr>`;
    })
    .join("");
  return rows === "" ? "" : `<table class="fields">${rows}</table>`;
}

/** Writes the client's types and table of operations from the OpenAPI document. */
import type {
  JsonSchema,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
} from "#functions/_shared/openapi-types.ts";

const SCHEMAS = "#/components/schemas/";
const HEAD = `// Written by \`npm run client\` from the OpenAPI document: change that, not this.
import type { Answer } from "../answer.ts";
`;

/** The text of client/generated/api.ts. */
export function writeClient(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `${comment(schema, "")}export type ${name} = ${typeOf(schema, "")};\n`,
  );
  const args = operations.map(({ operation }) => writeArgs(operation)).filter(Boolean);
  const verbs = operations.map(({ operation }) => writeVerb(operation));
  const table = operations.map(
    ({ path, method, operation }) =>
      `  ${operation.operationId}: ${writeEntry(path, method, operation)},\n`,
  );
  return [
    HEAD,
    ...schemas,
    ...args,
    `/** Every operation; each rejects with ApiProblem when the answer is an error. */\nexport interface Api {\n${verbs.join("")}}\n`,
    `export const OPERATIONS = {\n${table.join("")}} as const;\n`,
  ].join("\n");
}

function comment({ description }: { readonly description?: string }, indent: string): string {
  return description === undefined
    ? ""
    : `${indent}/** ${description.replaceAll("*/", "* /")} */\n`;
}

function typeOf(schema: JsonSchema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(SCHEMAS.length);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const options = schema.oneOf ?? schema.anyOf;
  if (options !== undefined)
    return [...new Set(options.map((option) => typeOf(option, indent)))].join(" | ");
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `readonly (${typeOf(schema.items ?? {}, indent)})[]`;
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

function objectType(
  { properties, required = [], additionalProperties }: JsonSchema,
  indent: string,
) {
  if (properties === undefined) {
    if (additionalProperties === false) return "Readonly<Record<string, never>>";
    const value = typeof additionalProperties === "object" ? additionalProperties : {};
    return `Readonly<Record<string, ${typeOf(value, indent)}>>`;
  }
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) =>
    writeField(name, field, required.includes(name), inner),
  );
  return fields.length === 0
    ? "Readonly<Record<string, never>>"
    : `{\n${fields.join("")}${indent}}`;
}

function writeField(name: string, field: JsonSchema, required: boolean, indent: string): string {
  const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
  const mark = required ? "" : "?";
  return `${comment(field, indent)}${indent}readonly ${key}${mark}: ${typeOf(field, indent)};\n`;
}

/** `If-Match` becomes `ifMatch`. */
function camelCase(name: string): string {
  const [first = "", ...others] = name.split("-").map((word) => word.toLowerCase());
  return first + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function argumentName({ name, in: where }: OpenApiParameter): string {
  return where === "header" ? camelCase(name) : name;
}

function bodySchema({ requestBody }: OpenApiOperation): JsonSchema | undefined {
  return requestBody?.content["application/json"]?.schema;
}

function argsName({ operationId }: OpenApiOperation): string {
  return `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Args`;
}

function writeArgs(operation: OpenApiOperation): string {
  const body = bodySchema(operation);
  const fields = operation.parameters.map((parameter) =>
    writeField(
      argumentName(parameter),
      { ...parameter.schema, ...describe(parameter.description) },
      parameter.required,
      "  ",
    ),
  );
  if (body !== undefined)
    fields.push(writeField("body", body, operation.requestBody?.required === true, "  "));
  if (fields.length === 0) return "";
  return `export interface ${argsName(operation)} {\n${fields.join("")}}\n`;
}

function describe(description: string | undefined) {
  return description === undefined ? {} : { description };
}

function writeVerb(operation: OpenApiOperation): string {
  const { operationId, summary, description, parameters, requestBody } = operation;
  const needed =
    requestBody?.required === true || parameters.some(({ required }) => required) ? "" : "?";
  const has = parameters.length > 0 || requestBody !== undefined;
  const args = has ? `args${needed}: ${argsName(operation)}` : "";
  const said = comment({ description: `${summary}. ${description}` }, "  ");
  return `${said}  ${operationId}(${args}): Promise<Answer<${answerType(operation)}>>;\n`;
}

function answerType({ responses }: OpenApiOperation): string {
  const types = Object.entries(responses).flatMap(([status, response]) => {
    if (!status.startsWith("2") || "$ref" in response) return [];
    const [content] = Object.values(response.content ?? {});
    return [content === undefined ? "null" : typeOf(content.schema, "  ")];
  });
  return [...new Set(types)].join(" | ");
}

function writeEntry(path: string, method: string, operation: OpenApiOperation): string {
  const names = (where: OpenApiParameter["in"]) =>
    operation.parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
  const headers = Object.fromEntries(names("header").map((name) => [camelCase(name), name]));
  const entry = { method: method.toUpperCase(), path, query: names("query"), headers };
  return JSON.stringify(entry);
}

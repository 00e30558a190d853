/**
 * The reference page: the OpenAPI document as one HTML page without scripts, fonts or anything else from elsewhere, so that it
 * reads the same offline and behind any gateway.
 */
import { DOCS_STYLE } from "./docs-style.ts";
import { escapeHtml, inlineCode } from "./html-text.ts";
import type {
  OpenApiContent,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from "./openapi-types.ts";
import { renderSchema } from "./render-schema.ts";

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** The page as HTML. */
export function renderDocs(document: OpenApiDocument): string {
  const all = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): Listed => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  const groups = document.tags.flatMap((tag) => {
    const listed = all.filter(({ operation }) => operation.tags.includes(tag.name));
    return listed.length === 0 ? [] : [{ tag, listed }];
  });
  const { title, description } = document.info;
  const nav = groups.map(({ tag, listed }) => renderNav(tag.name, listed)).join("");
  const sections = groups
    .map(({ tag, listed }) => {
      const body = listed.map((one) => renderOperation(document, one)).join("");
      return `<h2 id="${slug(tag.name)}">${escapeHtml(tag.name)}</h2><p>${inlineCode(tag.description)}</p>${body}`;
    })
    .join("");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}: API reference</title><style>${DOCS_STYLE}</style></head><body>`,
    `<nav><a class="home" href="#top">${escapeHtml(title)}</a>${nav}`,
    '<p><a href="openapi.json">openapi.json</a></p></nav>',
    `<main id="top"><h1>API reference</h1><p>${inlineCode(description)}</p>`,
    `${renderSecurity(document)}${sections}${renderSchemas(document)}</main></body></html>\n`,
  ].join("");
}

function slug(text: string): string {
  return text.replaceAll(" ", "-");
}

function renderNav(name: string, listed: readonly Listed[]): string {
  const items = listed
    .map(
      ({ method, operation }) =>
        `<li><a href="#${operation.operationId}"><b class="${method}">${method}</b> ${escapeHtml(operation.summary)}</a></li>`,
    )
    .join("");
  return `<h3><a href="#${slug(name)}">${escapeHtml(name)}</a></h3><ul>${items}</ul>`;
}

function renderSecurity({ components }: OpenApiDocument): string {
  const rows = Object.values(components.securitySchemes)
    .map((scheme) => scheme as { name: string; description: string })
    .map(
      ({ name, description }) =>
        `<tr><td><code>${escapeHtml(name)}</code></td><td>${inlineCode(description)}</td></tr>`,
    )
    .join("");
  return `<h2 id="authentication">authentication</h2><p>One of these headers:</p><table>${rows}</table>`;
}

function renderOperation(document: OpenApiDocument, { method, path, operation }: Listed): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const content = requestBody?.content["application/json"];
  const body =
    content === undefined
      ? ""
      : `<h4>Body${requestBody?.required === true ? "" : " (optional)"}</h4>${renderContent(content)}`;
  const answers = Object.entries(responses)
    .map(([status, response]) => renderResponse(document, status, response))
    .join("");
  return [
    `<section id="${operationId}"><h3>${escapeHtml(summary)}</h3>`,
    `<p class="route"><b class="${method}">${method}</b> <code>${escapeHtml(path)}</code></p>`,
    `<p>${inlineCode(description)}</p>${renderParameters(parameters)}${body}`,
    `<h4>Call it</h4><pre>${escapeHtml(curlOf(method, path, operation, content))}</pre>`,
    `<h4>Answers</h4>${answers}</section>`,
  ].join("");
}

function renderParameters(parameters: readonly OpenApiParameter[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters
    .map(({ name, in: where, required, description = "", schema }) => {
      const need = required ? "required" : "optional";
      return `<tr><td><code>${escapeHtml(name)}</code><br><small>${where}, ${need}</small></td><td>${renderSchema(schema)}<p>${inlineCode(description)}</p></td></tr>`;
    })
    .join("");
  return `<h4>Parameters</h4><table>${rows}</table>`;
}

function renderContent({ schema, example, examples = {} }: OpenApiContent): string {
  const named = Object.values(examples).map(
    ({ summary, value }) =>
      `<details><summary>${escapeHtml(summary)}</summary>${json(value)}</details>`,
  );
  const only =
    example === undefined ? "" : `<details><summary>Example</summary>${json(example)}</details>`;
  return `${renderSchema(schema)}${only}${named.join("")}`;
}

function json(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

function renderResponse(
  document: OpenApiDocument,
  status: string,
  response: OpenApiResponse | { readonly $ref: string },
): string {
  const { description, headers = {}, content = {} } = resolve(document, response);
  const lines = Object.entries(headers).map(
    ([name, header]) =>
      `<p><code>${escapeHtml(name)}</code>: ${inlineCode(header.description)}</p>`,
  );
  const bodies = Object.entries(content).map(
    ([type, body]) => `<p><small>${escapeHtml(type)}</small></p>${renderContent(body)}`,
  );
  const kind = status.startsWith("2") ? "good" : "bad";
  return `<details class="answer"><summary><b class="${kind}">${status}</b> ${inlineCode(description)}</summary>${lines.join("")}${bodies.join("")}</details>`;
}

function resolve(
  { components }: OpenApiDocument,
  response: OpenApiResponse | { readonly $ref: string },
): OpenApiResponse {
  if (!("$ref" in response)) return response;
  const name = response.$ref.slice("#/components/responses/".length);
  return components.responses[name] ?? { description: name };
}

function renderSchemas({ components }: OpenApiDocument): string {
  const all = Object.entries(components.schemas)
    .map(
      ([name, schema]) =>
        `<section id="schema-${name}"><h3>${name}</h3>${renderSchema(schema)}</section>`,
    )
    .join("");
  return `<h2 id="schemas">schemas</h2>${all}`;
}

/** A command to copy; `$API` is where the service is. */
function curlOf(
  method: string,
  path: string,
  { security }: OpenApiOperation,
  content: OpenApiContent | undefined,
): string {
  const lines = [`curl -s ${method === "GET" ? "" : `-X ${method} `}"$API${path}"`];
  if (security === undefined) lines.push(`-H "x-api-key: $KEY"`);
  const [first] = Object.values(content?.examples ?? {});
  if (first !== undefined) {
    lines.push(`-H 'content-type: application/json'`);
    lines.push(`-d '${JSON.stringify(first.value).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n  ");
}

/** GET /v1/openapi.json and GET /v1/docs: made once, on first use. */
import type { ApiAnswer } from "../_shared/api-event.ts";
import { openApiDocument } from "../_shared/openapi.ts";
import { renderDocs } from "../_shared/render-docs.ts";

let openApiText: string | undefined;
let docsHtml: string | undefined;

const CACHED = { "cache-control": "public, max-age=300" };
/** The page runs nothing and fetches nothing. */
const NOTHING_FROM_ELSEWHERE =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

export function serveOpenApi(): ApiAnswer {
  openApiText ??= JSON.stringify(openApiDocument());
  return { status: 200, headers: CACHED, body: { text: openApiText } };
}

export function serveDocs(): ApiAnswer {
  docsHtml ??= renderDocs(openApiDocument());
  const headers = {
    ...CACHED,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": NOTHING_FROM_ELSEWHERE,
    "x-content-type-options": "nosniff",
  };
  return { status: 200, headers, body: { text: docsHtml } };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeHtml, inlineCode } from "./html-text.ts";
import { openApiDocument } from "./openapi.ts";
import { renderDocs } from "./render-docs.ts";
import { ROUTES } from "./routes.ts";

const html = renderDocs(openApiDocument());

test("the page shows every operation and every schema, and every link on it leads somewhere", () => {
  for (const { operation, path } of ROUTES) {
    assert.ok(html.includes(`<section id="${operation}">`), operation);
    assert.ok(html.includes(escapeHtml(path)), path);
  }
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
  assert.ok(links.length > 30);
  for (const id of links) assert.ok(ids.has(id), `#${id}`);
});

test("the page needs nothing from elsewhere", () => {
  assert.doesNotMatch(html, /<(script|link|img|iframe|object|embed)\b/i);
  assert.doesNotMatch(html, /@import|url\(|\ssrc=/i);
  assert.deepEqual(
    [...html.matchAll(/ href="([^#"][^"]*)"/g)].map(([, to]) => to),
    ["openapi.json"],
  );
});

test("every element that is opened is closed, in order", () => {
  const open: string[] = [];
  for (const [, close, name = ""] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (["meta", "br"].includes(name)) continue;
    if (close === "") open.push(name);
    else assert.equal(open.pop(), name);
  }
  assert.deepEqual(open, []);
});

test("text is text, whatever it contains", () => {
  assert.equal(escapeHtml(`<a b="c">&'`), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  assert.equal(inlineCode("x `<b>` y ` z"), "x <code>&lt;b&gt;</code> y ` z");
});

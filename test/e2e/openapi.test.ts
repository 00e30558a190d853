/** The documentation as it is served: by the gateway as a process of its own, without a key, with no database in reach. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openClient } from "#client/client.ts";
import { openApiDocument } from "#functions/_shared/openapi.ts";
import { type OwnGateway, startGateway } from "#test/support/own-gateway.ts";

const NOWHERE = "127.0.0.1:9";
let gateway: OwnGateway;

before(async () => {
  const databases = { mysqlUrl: `mysql://root@${NOWHERE}`, databasePrefix: "none_" };
  gateway = await startGateway(databases, { CASSANDRA_CONTACT_POINTS: NOWHERE });
});
after(() => gateway[Symbol.asyncDispose]());

test("the document is served as it is made, to everybody", async () => {
  const api = openClient({ url: gateway.url, apiKey: null });
  const { status, headers, body } = await api.getOpenApi();
  assert.deepEqual([status, headers.get("content-type")], [200, "application/json"]);
  assert.match(headers.get("cache-control") ?? "", /max-age/);
  assert.deepEqual(body, JSON.parse(JSON.stringify(openApiDocument())));
  assert.equal(body.openapi, "3.1.0");
});

test("the page is HTML that may run and fetch nothing, and finds the document beside it", async () => {
  const { headers, body } = await openClient({ url: gateway.url, apiKey: null }).getDocs();
  assert.match(headers.get("content-type") ?? "", /^text\/html; charset=utf-8$/);
  assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none'; style-src/);
  assert.match(body, /^<!doctype html>/);
  const [, link = ""] = /href="([^"#]+)"/.exec(body) ?? [];
  const beside = await fetch(new URL(link, `${gateway.url}/v1/docs`));
  assert.equal(beside.status, 200);
});

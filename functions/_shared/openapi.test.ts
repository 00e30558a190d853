import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as ensure } from "#core/domain/assert.ts";
import { problemSchema } from "./answer-types.ts";
import { CONTRACTS, openApiDocument } from "./openapi.ts";
import { ROUTES } from "./routes.ts";
import { check } from "./validate.ts";

const document = openApiDocument();

/** Every value under a key called `name`, wherever it is. */
function valuesOf(name: string, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner] : []),
    ...valuesOf(name, inner),
  ]);
}

test("every route is in the document, by its operation's name, and nothing else is", () => {
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`,
    ),
  );
  const routes = ROUTES.map(({ method, path, operation }) => `${method} ${path} ${operation}`);
  assert.deepEqual(documented.sort(), routes.sort());
  assert.deepEqual(Object.keys(CONTRACTS).sort(), ROUTES.map(({ operation }) => operation).sort());
});

test("every reference leads somewhere, and every component is used", () => {
  const references = new Set(valuesOf("$ref", document) as string[]);
  const components = Object.entries(document.components)
    .filter(([kind]) => kind !== "securitySchemes")
    .flatMap(([kind, named]) => Object.keys(named).map((name) => `#/components/${kind}/${name}`));
  assert.deepEqual([...references].sort(), components.sort());
});

test("tags of operations are those that are described", () => {
  const described = document.tags.map(({ name }) => name);
  for (const { tag } of Object.values(CONTRACTS)) assert.ok(described.includes(tag));
});

test("the examples of bodies are taken by the schemas that validate", () => {
  let looked = 0;
  for (const [operation, { body }] of Object.entries(CONTRACTS)) {
    for (const { value } of Object.values(body?.examples ?? {})) {
      assert.equal(check(body?.schema ?? problemSchema, value).kind, "ok", operation);
      looked++;
    }
  }
  assert.ok(looked >= 7);
});

test("every operation that answers JSON has an example, and it is what the schema says", () => {
  for (const [operation, { answers }] of Object.entries(CONTRACTS)) {
    if (operation === "getOpenApi" || operation === "getDocs") continue;
    for (const { schema, example } of Object.values(answers)) {
      if (schema === null) continue;
      const parsed = schema.safeParse(example);
      assert.ok(parsed.success, `${operation}: ${parsed.error?.message}`);
    }
  }
  for (const { content } of Object.values(document.components.responses))
    assert.ok(problemSchema.safeParse(content?.["application/problem+json"]?.example).success);
});

test("what a request takes is closed, what an answer holds is open", () => {
  const { TaskInput, Task } = document.components.schemas;
  ensure(TaskInput !== undefined && Task !== undefined, "both are there");
  assert.equal(TaskInput.additionalProperties, false);
  assert.deepEqual(TaskInput.required, ["schedule", "request"]);
  assert.equal(Task.additionalProperties, undefined);
  assert.deepEqual(Object.keys(Task.properties ?? {}).sort(), [...(Task.required ?? [])].sort());
});

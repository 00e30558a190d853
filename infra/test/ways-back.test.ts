/** The ways back of docs/deploy.md, against the templates: what they deploy and what not, and that what they name is there. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { makeCell, resourcesOf, stacksOf } from "./cell-templates.ts";

const guide = readFileSync(resolve(import.meta.dirname, "../../docs/deploy.md"), "utf8");
const cell = makeCell("prod");
const stacks = stacksOf(cell);

describe("back to the release before", () => {
  it("deploys what uses the data, all of it, and never the data: neither a column of Keyspaces nor a version of Aurora goes back", () => {
    const [, named = ""] =
      /git checkout v[^`]*--exclusively at-and-cron-prod-eu\/\{(.+)\}/.exec(guide) ?? [];
    const all = stacks.map(({ node }) => node.id);
    assert.deepEqual(
      named.split(","),
      all.filter((id) => id !== "network" && id !== "data"),
    );
  });
});

describe("data that was destroyed", () => {
  const runbook = guide.slice(guide.indexOf("### Data that was"), guide.indexOf("## Teardown"));

  it("a cluster that takes the old one's name has its endpoint: the name is the cell's, and written down", () => {
    const [found] = resourcesOf(cell.data, "AWS::RDS::DBCluster");
    assert.equal(found?.[1].Properties.DBClusterIdentifier, "at-and-cron-prod-eu");
  });

  it("the owner's secret is imported by nobody but the schema, which can be taken away and made again", () => {
    const importers = stacks.filter((stack) => {
      const text = JSON.stringify(resourcesOf(stack));
      return /ImportValue":"[^"]*MasterUserSecret/.test(text);
    });
    assert.deepEqual(importers, [cell.schema]);
    assert.deepEqual(
      stacks.filter((stack) => JSON.stringify(resourcesOf(stack)).includes("eu-schema:")),
      [],
    );
  });

  it("every part of a stack that its steps look up is there", () => {
    const parts = [...runbook.matchAll(/\$\(part (\w+) ([\w:]+) ?(\w*)/g)];
    assert.ok(parts.length >= 8);
    for (const [text, name, type, prefix = ""] of parts) {
      const stack = stacks.find(({ node }) => node.id === name);
      assert.ok(stack, text);
      const found = resourcesOf(stack, `AWS::${type}`).filter(([id]) => id.startsWith(prefix));
      assert.ok(found.length > 0, text);
      if (prefix !== "") assert.equal(found.length, 1, text);
    }
  });
});

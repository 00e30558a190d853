/** cfn-lint, with the regions' own schemas, over the templates of both stages: no error, and no warning but what infra/cfn-lint.yaml explains. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, it } from "node:test";
import { installPythonProgram } from "#test/support/python-program.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const LINT_MS = 120_000;
const SYNTH_MS = 60_000;
const STACKS = 7;

const dir = mkdtempSync(join(tmpdir(), "cfn-lint-"));
after(() => rmSync(dir, { recursive: true, force: true }));

describe("cfn-lint", () => {
  const program = installPythonProgram(
    "cfn-lint",
    join(import.meta.dirname, "cfn-lint-requirements.txt"),
  );

  it("finds nothing in what the stages are", () => {
    const templates = ["dev", "prod"].flatMap(synthesise);
    assert.equal(templates.length, 2 * STACKS);
    const { status, output } = lint(program, templates);
    assert.equal(output, "");
    assert.equal(status, 0);
  });

  it("would find a property that does not exist, and a warning", () => {
    const bad = {
      Parameters: { Unused: { Type: "String" } },
      Resources: { Queue: { Type: "AWS::SQS::Queue", Properties: { DelaySecond: 1 } } },
    };
    const path = join(dir, "bad.template.json");
    writeFileSync(path, JSON.stringify(bad));
    const { status, output } = lint(program, [path]);
    assert.notEqual(status, 0);
    assert.match(output, /DelaySecond/);
    assert.match(output, /W2001/);
  });
});

/** The templates that `npm run synth -- -c stage=…` would make. */
function synthesise(stage: string): string[] {
  const out = join(dir, stage);
  const { context } = JSON.parse(readFileSync(join(ROOT, "cdk.json"), "utf8"));
  const env = {
    ...process.env,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, stage }),
    CDK_OUTDIR: out,
  };
  const options = { cwd: ROOT, env, encoding: "utf8", timeout: SYNTH_MS } as const;
  const run = spawnSync(process.execPath, ["infra/app.ts"], options);
  assert.equal(run.status, 0, run.stderr);
  return globSync("assembly-*/*.template.json", { cwd: out }).map((path) => join(out, path));
}

function lint(program: string, templates: readonly string[]) {
  const args = [
    "--config-file",
    "infra/cfn-lint.yaml",
    "--format",
    "parseable",
    "--",
    ...templates,
  ];
  const run = spawnSync(program, args, { cwd: ROOT, encoding: "utf8", timeout: LINT_MS });
  return { status: run.status, output: `${run.stdout}${run.stderr}` };
}

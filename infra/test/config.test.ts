/** Stages are chosen by `-c stage=`; anything else in the context is a mistake that is named in one line. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { App } from "aws-cdk-lib";
import { ConfigError, readStage, type StageConfig, validateStage } from "../config.ts";

const app = resolve(import.meta.dirname, "../app.ts");

function stageOf(context: Record<string, unknown>): StageConfig {
  return readStage(new App({ context }).node);
}

/** Runs app.ts as the CDK's command line does, with `context`. */
function synthesise(context: Record<string, unknown>): { status: number | null; stderr: string } {
  const out = mkdtempSync(join(tmpdir(), "synth-"));
  try {
    const env = { ...process.env, CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: out };
    const run = spawnSync(process.execPath, [app], { env, encoding: "utf8", timeout: 60_000 });
    return { status: run.status, stderr: run.stderr };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

describe("stage", () => {
  it("is dev unless one is named", () => {
    assert.equal(stageOf({}).name, "dev");
    assert.equal(stageOf({ stage: "prod" }).name, "prod");
  });

  it("is valid, and production outlives a zone and a stack", () => {
    const { network } = stageOf({ stage: "prod" });
    assert.equal(network.natGateways, network.zones);
    assert.equal(network.retainAddresses, true);
  });

  it("leaves the CDK's own context alone", () => {
    const context = {
      "aws:cdk:bundling-stacks": ["**"],
      "@aws-cdk/aws-iam:minimizePolicies": true,
    };
    assert.equal(stageOf(context).name, "dev");
  });

  for (const stage of ["test", "", 5, "toString"]) {
    it(`refuses ${JSON.stringify(stage)}`, () => {
      assert.throws(() => stageOf({ stage }), ConfigError);
    });
  }
});

describe("figures of a stage", () => {
  const good = stageOf({});
  const network = (change: Partial<StageConfig["network"]>) => ({
    ...good,
    network: { ...good.network, ...change },
  });
  const refused: readonly [string, StageConfig][] = [
    ["eu", { ...good, region: "eu" }],
    ["10.0.0.0/8", network({ cidr: "10.0.0.0/8" })],
    ["10.256.0.0/16", network({ cidr: "10.256.0.0/16" })],
    ["172.32.0.0/16", network({ cidr: "172.32.0.0/16" })],
    ["2 NAT gateways for 3 zones", network({ zones: 3, natGateways: 2 })],
    ["0 NAT gateways", network({ natGateways: 0 })],
  ];
  for (const [words, stage] of refused) {
    it(`refuses ${words} and says so`, () => {
      assert.throws(
        () => validateStage(stage),
        (error: Error) => error.message.includes(words),
      );
    });
  }

  it("takes each private range", () => {
    for (const cidr of ["10.0.0.0/16", "172.16.0.0/16", "192.168.0.0/16"]) {
      assert.equal(validateStage(network({ cidr })).network.cidr, cidr);
    }
  });
});

describe("synthesis", () => {
  it("needs no context, credentials or network", () => {
    const run = synthesise({});
    assert.equal(run.stderr, "");
    assert.equal(run.status, 0);
  });

  it("ends with one line for an unknown stage", () => {
    const run = synthesise({ stage: "live" });
    assert.equal(run.stderr, 'infra: unknown stage "live": there are dev, prod\n');
    assert.equal(run.status, 1);
  });

  it("ends with one line for a misspelt key", () => {
    const run = synthesise({ stgae: "dev" });
    assert.equal(run.stderr, 'infra: unknown context key "stgae": known is stage\n');
    assert.equal(run.status, 1);
  });
});

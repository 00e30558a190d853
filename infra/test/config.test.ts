/** Stages are chosen by `-c stage=`; anything else in the context is a mistake that is named in one line. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { App } from "aws-cdk-lib";
import {
  type CellConfig,
  ConfigError,
  readStage,
  type StageConfig,
  validateStage,
} from "../config.ts";

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
    for (const { network } of stageOf({ stage: "prod" }).cells) {
      assert.equal(network.natGateways, network.zones.length);
      assert.equal(network.retainAddresses, true);
    }
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

describe("figures of a cell", () => {
  const stage = stageOf({});
  const [good] = stage.cells;
  assert.ok(good);
  const of = (...cells: CellConfig[]): StageConfig => ({ ...stage, cells });
  const network = (change: Partial<CellConfig["network"]>) =>
    of({ ...good, network: { ...good.network, ...change } });
  const data = (change: Partial<CellConfig["data"]>) =>
    of({ ...good, data: { ...good.data, ...change } });
  const api = (change: Partial<CellConfig["api"]>) =>
    of({ ...good, api: { ...good.api, ...change } });
  const workers = (change: Partial<CellConfig["workers"]>) =>
    of({ ...good, workers: { ...good.workers, ...change } });
  const proxied = {
    ...good,
    data: { ...good.data, acuMax: 16, proxy: true },
    workers: { ...good.workers, executorsMax: 50 },
  };
  const refused: readonly [string, StageConfig][] = [
    ["no cells", of()],
    ["the same name", of(good, { ...good, region: "us-east-1" })],
    ["the same region", of(good, { ...good, name: "two" })],
    ["its name", of({ ...good, name: "EU-1" })],
    ['"eu" is no region', of({ ...good, region: "eu" })],
    ["10.0.0.0/8", network({ cidr: "10.0.0.0/8" })],
    ["10.256.0.0/16", network({ cidr: "10.256.0.0/16" })],
    ["172.32.0.0/16", network({ cidr: "172.32.0.0/16" })],
    ["2 NAT gateways for 3 zones", network({ zones: ["a", "b", "c"], natGateways: 2 })],
    ["zones a: 2 or 3", network({ zones: ["a"] })],
    ["zones a, b, c, d: 2 or 3", network({ zones: ["a", "b", "c", "d"] })],
    ["zones a, a: 2 or 3 different", network({ zones: ["a", "a"] })],
    ["zones a, eu-west-1b: a letter each", network({ zones: ["a", "eu-west-1b"] })],
    ["0 NAT gateways", network({ natGateways: 0 })],
    ["pauses", data({ acuMin: 0 })],
    ["4 ACU at most", data({ acuMax: 4 })],
    ["16 to 8 ACU", data({ acuMin: 16, acuMax: 8 })],
    ["0 days of backups", data({ backupDays: 0 })],
    ["a burst of 1", api({ burst: 1 })],
    ["12 digits", api({ callerAccounts: ["123"] })],
    ["1 schedulers", workers({ schedulers: 1 })],
    ["1 executors", workers({ executorsMin: 1 })],
    ["4 to 3 executors", workers({ executorsMin: 4, executorsMax: 3 })],
    [
      "30000 jobs due soon for each of 4 executors (dueSoonPerExecutor × executorsMax)",
      workers({ dueSoonPerExecutor: 30_000 }),
    ],
    ["dueSoonPerExecutor is 0", workers({ dueSoonPerExecutor: 0 })],
    // 28 for each executor and scheduler, and two for each of 400 environments: at its rate, the API answers two ways 200 requests in a second.
    ["1024 connections to MySQL", workers({ executorsMax: 6 })],
    ["8 ACU bear 1000", api({ ratePerSecond: 300, burst: 300 })],
    [
      "65 executors and schedulers leave 9 % of 2000 connections to MySQL for the proxy",
      of({
        ...proxied,
        workers: { ...proxied.workers, executorsMax: 63, dueSoonPerExecutor: 1_000 },
      }),
    ],
    ["16 ACU bear 2000", of({ ...proxied, data: { ...proxied.data, proxy: false } })],
    ["executorSpotPercent is 101", workers({ executorSpotPercent: 101 })],
    ["executorSpotPercent is 33.3", workers({ executorSpotPercent: 33.3 })],
    [
      "executorSlots is 0: it has to be a whole number from 1 to 10000",
      workers({ executorSlots: 0 }),
    ],
    ["executorSlots is 20000", workers({ executorSlots: 20_000 })],
    ["executorSlots is 64.5", workers({ executorSlots: 64.5 })],
    ["executorsMin is 2.5", workers({ executorsMin: 2.5 })],
    ["executorsMax is NaN", workers({ executorsMax: Number.NaN })],
    ["archiveSucceededAfterSeconds is 0", of({ ...good, archiveSucceededAfterSeconds: 0 })],
    ["archiveEndedAfterSeconds is 40000000", of({ ...good, archiveEndedAfterSeconds: 40_000_000 })],
    ["twice acuMin is 1.4", data({ acuMin: 0.7 })],
    ["twice acuMax is 600", data({ acuMax: 300 })],
    ["firewallRequestsPerKey is 5", api({ firewallRequestsPerKey: 5 })],
    ["ratePerSecond is 0", api({ ratePerSecond: 0 })],
    ["ratePerSecond is NaN", api({ ratePerSecond: Number.NaN })],
    ["nothingMadeMinutes is 2000", of({ ...good, nothingMadeMinutes: 2_000 })],
    ["no address", of({ ...good, alarmEmail: "somebody" })],
    ["1 minutes without a job", of({ ...good, nothingMadeMinutes: 1 })],
    ["2 runs of a tick at once", of({ ...good, tickConcurrency: 2 })],
  ];
  for (const [words, bad] of refused) {
    it(`refuses ${words} and says so`, () => {
      assert.throws(
        () => validateStage(bad),
        (error: Error) => error instanceof ConfigError && error.message.includes(words),
      );
    });
  }

  it("takes as many workers as MySQL has connections for", () => {
    for (const fits of [workers({ executorsMax: 5 }), data({ acuMax: 8 }), of(proxied)])
      assert.equal(validateStage(fits), fits);
  });

  it("reckons with the pools that a worker has", () => {
    const pools = ["shards.ts", "control-store.ts"].flatMap((file) => {
      const path = resolve(import.meta.dirname, "../../adapters/mysql", file);
      return [...readFileSync(path, "utf8").matchAll(/POOL_SIZE = (\d+);/g)].map(([, n]) =>
        Number(n),
      );
    });
    assert.deepEqual(pools, [10, 2, 2]);
  });

  it("takes each private range", () => {
    for (const cidr of ["10.0.0.0/16", "172.16.0.0/16", "192.168.0.0/16"]) {
      assert.equal(validateStage(network({ cidr })).cells[0]?.network.cidr, cidr);
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
    assert.equal(run.stderr, 'infra: unknown stage "live": there are dev, prod, localstack\n');
    assert.equal(run.status, 1);
  });

  it("ends with one line for a misspelt key", () => {
    const run = synthesise({ stgae: "dev" });
    assert.equal(run.stderr, 'infra: unknown context key "stgae": known is stage\n');
    assert.equal(run.status, 1);
  });
});

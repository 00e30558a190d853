/** Cells as the real app makes them, with the CDK's settings of cdk.json, and the resources of their templates. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { App, type Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Cell } from "../cell.ts";
import { type CellConfig, readStage, type StageName } from "../config.ts";

export type Properties = Record<string, unknown>;
export interface Resource {
  readonly Type: string;
  readonly Properties: Properties;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}
export type NamedResource = readonly [id: string, resource: Resource];

export const STAGES: readonly StageName[] = ["dev", "prod"];

/** An app with the context of cdk.json. */
export function makeApp(stage: StageName): App {
  const path = resolve(import.meta.dirname, "../../cdk.json");
  const { context } = JSON.parse(readFileSync(path, "utf8")) as { context: Properties };
  return new App({ context: { ...context, stage } });
}

/** The first cell of a stage, changed where a test says so. */
export function makeCell(stage: StageName, change: Partial<CellConfig> = {}): Cell {
  const app = makeApp(stage);
  const [cell] = readStage(app.node).cells;
  if (cell === undefined) throw new Error(`stage ${stage} has no cell`);
  return new Cell(app, stage, { ...cell, ...change });
}

export function stacksOf(cell: Cell): readonly Stack[] {
  const { network, data, schema, api, ticks, workers, observability } = cell;
  return [network, data, schema, api, ticks, workers, observability];
}

/** The resources of a stack of a type; of all types when none is given. */
export function resourcesOf(stack: Stack, type?: string): readonly NamedResource[] {
  const { Resources = {} } = Template.fromStack(stack).toJSON() as {
    Resources?: Record<string, Resource>;
  };
  return Object.entries(Resources).filter(
    ([, resource]) => type === undefined || resource.Type === type,
  );
}

export function resourcesOfCell(cell: Cell, type?: string): readonly NamedResource[] {
  return stacksOf(cell).flatMap((stack) => resourcesOf(stack, type));
}

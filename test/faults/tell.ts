/** Outcomes in words. */
import type { Outcome } from "./run-fault.ts";

export const HEADS: readonly string[] = [
  ...["fault", "what", "jobs", "calls", "lost", "duplicates", "extra", "allowed"],
  ...["recovery", "critical p99", "pass"],
];

/** Calls beyond those that the endpoint's answers asked for: made again after a success, or cut off before their answer. */
export function extraCalls({ repeated, cut }: Outcome): number {
  return repeated + cut;
}

export function lineOf(outcome: Outcome): string {
  const { id, title, lost, duplicates, recoveryMs, criticalP99Ms, uncommitted, notes } = outcome;
  const figures = [
    `lost ${lost}`,
    `duplicates ${duplicates}`,
    `extra calls ${extraCalls(outcome)} of ${uncommitted} allowed`,
    `recovery ${seconds(recoveryMs)}`,
    `critical p99 ${ms(criticalP99Ms)}`,
    ...(notes === "" ? [] : [notes]),
  ];
  const { failures } = outcome;
  const end = failures.length === 0 ? "pass" : `FAIL: ${failures.join("; ")}`;
  return `${id} ${title} … ${figures.join(", ")} … ${end}`;
}

export function rowOf(outcome: Outcome): readonly string[] {
  const { id, title, jobs, calls, lost, duplicates, uncommitted, failures } = outcome;
  return [
    ...[id, title, String(jobs), String(calls), String(lost), String(duplicates)],
    ...[String(extraCalls(outcome)), String(uncommitted), seconds(outcome.recoveryMs)],
    ...[ms(outcome.criticalP99Ms), failures.length === 0 ? "yes" : "NO"],
  ];
}

function seconds(value: number): string {
  return `${(value / 1_000).toFixed(1)} s`;
}

function ms(value: number): string {
  return Number.isFinite(value) ? `${Math.round(value)} ms` : "";
}

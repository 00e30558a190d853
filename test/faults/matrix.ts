/** All faults, in order. */
import type { Fault } from "./fault.ts";
import { archiverKilled, cassandraKilled } from "./faults/archive.ts";
import { catchUp } from "./faults/catch-up.ts";
import { mysqlAway, readOnlyFlip, rotatedCredentials } from "./faults/database.ts";
import {
  killExecutor,
  killReconciler,
  killScheduler,
  longCalls,
  rollingReplacement,
  stopExecutor,
  twoOfEach,
} from "./faults/deaths.ts";
import { blackHole, cutAfterCommit, latency, oneWay, partition, resets } from "./faults/network.ts";
import { clockSkew, closedLogs, fullDisk, poison } from "./faults/surroundings.ts";

export const MATRIX: readonly Fault[] = [
  ...[latency, blackHole, resets, oneWay, cutAfterCommit, partition],
  ...[killExecutor, killScheduler, killReconciler, stopExecutor, twoOfEach],
  ...[rollingReplacement, longCalls, mysqlAway, readOnlyFlip, rotatedCredentials],
  ...[cassandraKilled, archiverKilled, clockSkew, fullDisk, closedLogs, poison, catchUp],
];

/** Cells of a row as the domain's values. */
import { assert } from "#core/domain/assert.ts";
import {
  type JobId,
  jobIdFromBytes,
  type TaskId,
  type TenantId,
  taskIdFromBytes,
  type WorkerId,
} from "#core/domain/ids.ts";
import type { Cell } from "./pool.ts";

/** `2026-12-01 09:00:00.000`, always UTC, as epoch ms. */
export function readInstant(cell: Cell | undefined): number {
  const value = String(cell);
  const ms = Date.parse(`${value.slice(0, 10)}T${value.slice(11, 23)}Z`);
  assert(!Number.isNaN(ms), "a DATETIME(3) cell is an instant");
  return ms;
}

/** A DATETIME(6) cell, as ms with a fraction. */
export function readMicros(cell: Cell | undefined): number {
  const value = String(cell);
  return readInstant(value) + Number(value.slice(23, 26)) / 1_000;
}

export function readInstantOrNull(cell: Cell | undefined): number | null {
  return cell === null ? null : readInstant(cell);
}

export function readTaskId(cell: Cell | undefined): TaskId {
  return taskIdFromBytes(cell as Buffer);
}

export function readJobId(cell: Cell | undefined): JobId {
  return jobIdFromBytes(cell as Buffer);
}

export function readWorkerId(cell: Cell | undefined): WorkerId {
  return (cell as Buffer).toString("hex") as WorkerId;
}

export function readTenantId(cell: Cell | undefined): TenantId {
  return cell as TenantId;
}

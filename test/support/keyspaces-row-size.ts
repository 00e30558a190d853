/**
 * How large Amazon Keyspaces counts a row of jobs_by_task, upper estimate, by the rules of its guide ("Estimate row size"): keys are
 * stored twice, with 3 bytes of metadata a partition column and 20 % a clustering column; a regular column has an id of 1 byte, up to
 * 40 bytes for its client-side timestamp and 8 for its TTL; a row has 100 bytes of its own and 8 for its TTL.
 */
export function keyspacesRowBytes(params: readonly unknown[]): number {
  const [tenantId, taskId, month, scheduledAt, jobId, ...columns] = params.slice(0, 8);
  const partition = [tenantId, taskId, month].map((value) => bytesOf(value) + 3);
  const clustering = [scheduledAt, jobId].map((value) => Math.ceil(bytesOf(value) * 1.2));
  const regular = columns.map((value) => bytesOf(value) + 1 + 40 + 8);
  const sum = (parts: readonly number[]) => parts.reduce((total, part) => total + part, 0);
  return 2 * (sum(partition) + sum(clustering)) + sum(regular) + 100 + 8;
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return value.length;
  return value instanceof Date ? 8 : 5;
}

import type { JobId } from "#core/domain/ids.ts";
import type { Secret } from "#core/domain/secret.ts";
import type { Signer } from "#core/ports/signer.ts";

/**
 * The headers of Standard Webhooks: the id is the job's and stays the same from attempt to attempt, the time is this one's. While
 * a secret is replaced there are two or three signatures, of the newest first.
 */
export function signedHeaders(
  signer: Signer,
  keys: readonly Secret[],
  jobId: JobId,
  nowMs: number,
  body: Uint8Array | string | null,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const head = `${jobId}.${timestamp}.`;
  const signatures = keys.map((key) => `v1,${signer.sign(key, head, body)}`);
  return {
    "webhook-id": jobId,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

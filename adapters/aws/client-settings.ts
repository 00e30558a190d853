/** What clients of AWS are opened with. */
import type { KMSClientConfig } from "@aws-sdk/client-kms";

export interface ClientOptions {
  /** How long it may take to answer once, ms; asked again then. */
  readonly requestMs?: number;
  /** Of tests: endpoint and credentials. */
  readonly client?: Pick<KMSClientConfig, "endpoint" | "credentials" | "region">;
}

const CONNECT_MS = 1_000;
const REQUEST_MS = 3_000;

export function clientSettings(
  { client = {}, requestMs = REQUEST_MS }: ClientOptions,
  maxAttempts: number,
) {
  return {
    ...client,
    maxAttempts,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: requestMs,
      // Without it a request that takes longer is only logged.
      throwOnRequestTimeout: true,
    },
  };
}

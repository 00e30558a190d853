/** Calls a tenant's endpoint once: no retry, no redirect, one deadline over everything, a bounded response. */
export interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | null;
  /** Over DNS, connect, TLS, headers and body together. */
  readonly timeoutMs: number;
  /** Bytes of the response that are kept; the rest is not read. */
  readonly responseBytesMax: number;
}

export type CallOutcome =
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      /** Delay that a Retry-After header asks for, in ms; null when there is none that makes sense. */
      readonly retryAfterMs: number | null;
      /** First bytes of the response as text, invalid UTF-8 replaced. */
      readonly responseBody: string;
      readonly durationMs: number;
    }
  | {
      readonly kind: "failed";
      /** Stable code: `timeout`, `interrupted`, `dns`, `connection-refused`, `connection-reset`, `tls`, `protocol`, `network`. */
      readonly error: string;
      readonly durationMs: number;
    };

export interface Caller {
  /** Never throws for what an endpoint does. `signal` ends the call as `interrupted`. */
  call(call: Call, signal: AbortSignal): Promise<CallOutcome>;
  close(): Promise<void>;
}

/** Calls a tenant's endpoint once: no retry, no redirect, one deadline over everything, a bounded response. */
import type { CallError } from "#core/domain/call-error.ts";
import type { TenantId } from "#core/domain/ids.ts";

export interface Call {
  /** Whose call it is: tenants share no connection. */
  readonly tenantId: TenantId;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | null;
  /** Over DNS, connect, TLS, headers and body together. */
  readonly timeoutMs: number;
  /** Bytes of the response that are kept. Of the rest no more is read than a kept connection is worth. */
  readonly responseBytesMax: number;
  /** A connection is opened rather than another call's waited for, however soon that may be free. */
  readonly opensAtOnce?: boolean;
}

/** How long each phase took, ms with fractions; null for one that did not happen (a warm connection dials nothing) or did not end. */
export interface CallTimings {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the request to the answer's status and headers. */
  readonly firstByteMs: number | null;
  readonly totalMs: number;
}

export type CallOutcome =
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      /** Delay that a Retry-After header asks for, in ms; null when there is none that makes sense. */
      readonly retryAfterMs: number | null;
      /** Its `Webhook-Stop` header says `true`. */
      readonly stop?: boolean;
      /** First bytes of the response as text, invalid UTF-8 replaced. */
      readonly responseBody: string;
      readonly durationMs: number;
      readonly timings?: CallTimings;
    }
  | {
      readonly kind: "failed";
      /** `destination-not-allowed` whatever the reason: it would tell what is inside our network. */
      readonly error: CallError;
      readonly durationMs: number;
      readonly timings?: CallTimings;
    };

export interface Caller {
  /** Never throws for what an endpoint does. `signal` ends the call as `interrupted`. */
  call(call: Call, signal: AbortSignal): Promise<CallOutcome>;
  /** A call is to follow soon: its name may be resolved and a connection opened. Tells nothing; absent where there is nothing to do. */
  prepare?(tenantId: TenantId, url: string): void;
  close(): Promise<void>;
}

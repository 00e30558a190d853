/**
 * One call as it leaves: the request of the job's version with the task's secrets as they are now, signed for its tenant. What has
 * been opened lives until the call has ended. All of it, a token's fetch included, is within the job's timeout, but for reading a
 * body that the claim has left out: that is our own affair.
 *
 * What the database does not say now, or the master key does not open, is no attempt: the job goes back unsent.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { SECRET_CHANGED_WITHIN_MS, TASK_SECRETS_KNOWN_MS } from "#core/domain/limits.ts";
import type { Secret } from "#core/domain/secret.ts";
import type { Credential } from "#core/domain/target-auth.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import { type Opener, SecretsUnavailable } from "#core/ports/secrets.ts";
import type { Signer } from "#core/ports/signer.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import type { AccessToken, AccessTokens } from "./access-tokens.ts";
import { buildCall } from "./build-call.ts";
import { type CallParts, namesSecrets } from "./call-parts.ts";
import { hideSecrets } from "./hide-secrets.ts";
import { openSecrets } from "./open-secrets.ts";
import { signedHeaders } from "./signed-headers.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { carriedRequest, loadRequest, type WholeRequestDeps } from "./whole-request.ts";

interface SenderDeps extends WholeRequestDeps {
  readonly caller: Caller;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly parts: CallParts;
  readonly opener: Opener;
  readonly signer: Signer;
  readonly keys: SigningKeys;
  readonly tokens: AccessTokens;
}

/** What a call gets beside its request. */
interface Ready {
  readonly kind: "ready";
  readonly keys: readonly Secret[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whatever of it the target may repeat. */
  readonly sent: readonly string[];
  readonly token: AccessToken | null;
}

type Failed = { readonly kind: "failed"; readonly error: string };

/** What was got for a call that did not begin. */
interface Kept {
  readonly request: HttpRequest;
  readonly ready: Ready | Failed;
  readonly untilMs: number;
}
type Unsent = { readonly kind: "unsent"; readonly why?: "secrets-unavailable" };

/** How a job's turn ended: `unsent`, nothing was called and the job is to be given back. */
export type Sent = CallOutcome | Unsent;

const UNSENT: Unsent = { kind: "unsent" };

/** So long secrets may be kept on top of what they may be too old by. */
const READY_KEPT_MS = SECRET_CHANGED_WITHIN_MS - TASK_SECRETS_KNOWN_MS;
const WARNED_EVERY_MS = 1_000;
const PLAIN: Ready = { kind: "ready", keys: [], headers: {}, sent: [], token: null };

export class CallSender {
  readonly #deps: SenderDeps;
  #warnedMs = Number.NEGATIVE_INFINITY;
  /** Of jobs whose turn was over when all was got: their next is not to be spent on the same again. */
  readonly #kept = new WeakMap<ClaimedJob, Kept>();

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /**
   * Never throws for what an endpoint, a store or a key service does. `begin` is asked once, when the call is ready to leave or has
   * failed before: what was got ready may have taken its time, and false says that the job is no longer to be called.
   */
  async send(
    job: ClaimedJob,
    version: CarriedVersion,
    signal: AbortSignal,
    begin: () => boolean,
  ): Promise<Sent> {
    const { clock } = this.#deps;
    const kept = this.#kept.get(job);
    const request =
      kept?.request ?? carriedRequest(job, version) ?? (await this.#loadRequest(job, version));
    if (request === null) return UNSENT;
    const startedMs = clock.monotonicMs();
    const known = kept !== undefined && startedMs < kept.untilMs ? kept : null;
    const ready =
      known?.ready ??
      this.#readyNow(job, version) ??
      (await this.#within(job.timeoutMs, signal, this.#prepare(job, version, signal)));
    if (ready.kind === "unsent") return ready;
    if (!begin()) {
      const untilMs = known?.untilMs ?? startedMs + READY_KEPT_MS;
      this.#kept.set(job, { request, ready, untilMs });
      return UNSENT;
    }
    const spentMs = clock.monotonicMs() - startedMs;
    if (ready.kind === "failed") return { ...ready, durationMs: Math.round(spentMs) };
    return this.#call(job, request, ready, spentMs, signal);
  }

  async #call(
    job: ClaimedJob,
    request: HttpRequest,
    ready: Ready,
    spentMs: number,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const { caller, clock, signer, tokens } = this.#deps;
    const call = buildCall(job, request, ready.headers);
    const signed = signedHeaders(signer, ready.keys, job.id, clock.nowMs(), call.body);
    const outcome = await caller.call(
      {
        ...call,
        headers: { ...call.headers, ...signed },
        timeoutMs: Math.max(1, Math.floor(call.timeoutMs - spentMs)),
      },
      signal,
    );
    if (outcome.kind === "failed") return outcome;
    if (ready.token !== null) tokens.noteAnswer(ready.token, outcome.statusCode);
    if (ready.sent.length === 0) return outcome;
    return { ...outcome, responseBody: hideSecrets(outcome.responseBody, ready.sent) };
  }

  /** Null: gone, or the database does not say now. */
  async #loadRequest(job: ClaimedJob, version: CarriedVersion): Promise<HttpRequest | null> {
    try {
      return await loadRequest(this.#deps, job, version);
    } catch (error) {
      this.#noteAway(error);
      return null;
    }
  }

  /** Throws on what no store throws. */
  #noteAway(error: unknown): void {
    if (!(error instanceof OperatingError)) throw error;
    this.#warn(
      "calls wait: what they need cannot be read now; their jobs are given back",
      describeError(error),
    );
  }

  /** What most calls need, at once; null where something has to be asked for or opened. */
  #readyNow(job: ClaimedJob, { request }: CarriedVersion): Ready | null {
    const keys = namesSecrets(request) ? null : this.#deps.keys.knownKeysOf(job.tenantId);
    return keys === null ? null : { ...PLAIN, keys };
  }

  async #prepare(
    job: ClaimedJob,
    { request }: CarriedVersion,
    signal: AbortSignal,
  ): Promise<Ready | Failed | Unsent> {
    const { parts, opener, keys } = this.#deps;
    try {
      const signing = await keys.keysOf(job.tenantId);
      if (signing.length === 0) return this.#unreadable(job, "secret-unreadable");
      const plain = { ...PLAIN, keys: signing };
      if (!namesSecrets(request)) return plain;
      const stored = await parts.secretsOf(job.taskId);
      const opened = await openSecrets(opener, job, request, stored);
      if (opened.kind === "failed") return this.#unreadable(job, opened.error);
      const sent = Object.values(opened.headers);
      if (opened.credential === null) return { ...plain, headers: opened.headers, sent };
      const granted = await this.#authorize(job.tenantId, opened.credential, signal);
      if (granted.kind === "failed") return granted;
      const headers = { ...opened.headers, authorization: granted.authorization };
      return { ...plain, headers, sent: [...sent, ...granted.sent], token: granted.token };
    } catch (thrown) {
      if (!(thrown instanceof SecretsUnavailable)) {
        this.#noteAway(thrown);
        return UNSENT;
      }
      this.#warn("calls wait: their secrets cannot be opened now; their jobs are given back", {
        ...describeError(thrown),
      });
      // Whoever waits for a test's answer is to be told.
      const error = "secrets-unavailable";
      return job.trigger === "test" ? { kind: "failed", error } : { kind: "unsent", why: error };
    }
  }

  async #authorize(
    tenantId: TenantId,
    credential: Credential,
    signal: AbortSignal,
  ): Promise<
    | {
        readonly kind: "granted";
        readonly authorization: string;
        readonly sent: readonly string[];
        readonly token: AccessToken | null;
      }
    | Failed
  > {
    switch (credential.type) {
      case "bearer": {
        const token = credential.token.reveal();
        return { kind: "granted", authorization: `Bearer ${token}`, sent: [token], token: null };
      }
      case "basic": {
        const password = credential.password.reveal();
        const pair = base64(`${credential.username}:${password}`);
        const sent = [password, pair];
        return { kind: "granted", authorization: `Basic ${pair}`, sent, token: null };
      }
      case "oauth2": {
        const got = await this.#deps.tokens.tokenOf(tenantId, credential, signal);
        if (got.kind === "failed") return got;
        const token = got.token.secret.reveal();
        const sent = [token, credential.clientSecret.reveal()];
        return { kind: "granted", authorization: `Bearer ${token}`, sent, token: got.token };
      }
    }
  }

  /** Ends the wait, not the work: others may wait for it too. */
  async #within(
    timeoutMs: number,
    signal: AbortSignal,
    work: Promise<Ready | Failed | Unsent>,
  ): Promise<Ready | Failed | Unsent> {
    const { promise, resolve } = Promise.withResolvers<Failed>();
    const interrupt = () => resolve({ kind: "failed", error: "interrupted" });
    signal.addEventListener("abort", interrupt, { once: true });
    const cancel = this.#deps.clock.setTimer(timeoutMs, () => {
      resolve({ kind: "failed", error: "timeout" });
    });
    try {
      return await Promise.race([work, promise]);
    } finally {
      cancel();
      signal.removeEventListener("abort", interrupt);
    }
  }

  #unreadable(job: ClaimedJob, code: "secret-missing" | "secret-unreadable"): Failed {
    const what =
      code === "secret-missing"
        ? "call fails: its task no longer has a secret that it names"
        : "call fails: a secret was not sealed for where it is stored, or its key is lost";
    this.#warn(what, { code, taskId: job.taskId, jobId: job.id });
    return { kind: "failed", error: code };
  }

  /** One line a second: what fails here may fail for every job. */
  #warn(what: string, fields: LogFields): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#warnedMs < WARNED_EVERY_MS) return;
    this.#warnedMs = nowMs;
    this.#deps.logger.warn(what, fields);
  }
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

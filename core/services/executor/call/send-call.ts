/**
 * One call as it leaves: the request of the job's version with the task's secrets as they are now, signed for its tenant. What has
 * been opened lives until the call has ended.
 *
 * What the database and the master key have to do with it is our own affair: it takes nothing of the job's timeout, and what they do
 * not say in good time is no attempt: the job goes back unsent. Then its timeout begins, of which a token's fetch is a part; where
 * that takes long, what else the call carries is read again behind it.
 */
import type { CallError } from "#core/domain/call-error.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { SECRET_CHANGED_WITHIN_MS, TASK_SECRETS_KNOWN_MS } from "#core/domain/limits.ts";
import { originOf } from "#core/domain/origin.ts";
import type { Secret } from "#core/domain/secret.ts";
import { type Credential, writeCredential } from "#core/domain/target-auth.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { StoredSecret } from "#core/domain/task-secrets.ts";
import type { Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import { type Opener, SecretsUnavailable } from "#core/ports/secrets.ts";
import type { Signer } from "#core/ports/signer.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import type { DatabaseClock } from "../database-clock.ts";
import type { AccessToken, AccessTokens, TokenOutcome } from "./access-tokens.ts";
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
  readonly database: Pick<DatabaseClock, "nowMs">;
  readonly logger: Logger;
  readonly parts: CallParts;
  readonly opener: Opener;
  readonly signer: Signer;
  readonly keys: SigningKeys;
  readonly tokens: AccessTokens;
}

/** What a call is made of. */
interface Ready {
  readonly kind: "ready";
  readonly request: HttpRequest;
  readonly keys: readonly Secret[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whatever of it the target may repeat. */
  readonly sent: readonly string[];
  /** What it still has to be authorized by. */
  readonly credential: Credential | null;
  readonly token: AccessToken | null;
}

type WithCredential = Ready & { readonly credential: Credential };
type Failed = { readonly kind: "failed"; readonly error: CallError };

/** What was got for a call that did not begin. */
interface Kept {
  readonly ready: Ready | Failed;
  readonly untilMs: number;
}
type Unsent = { readonly kind: "unsent"; readonly locked?: true };

/** How a job's turn ended: `unsent`, nothing was called and the job is to be given back. */
export type Sent = CallOutcome | Unsent;

const UNSENT: Unsent = { kind: "unsent" };

/** How long a slot waits for what is our own affair: as long as a statement may take. */
const OWN_MS_MAX = 5_000;

/** Between reading secrets and the call may lie so much. */
const READY_KEPT_MS = SECRET_CHANGED_WITHIN_MS - TASK_SECRETS_KNOWN_MS;

const INTERRUPTED = { kind: "failed", error: "interrupted" } as const;

const WHY_FAILED = {
  "secret-missing": "call fails: its task no longer has a secret that it names",
  "secret-other-origin":
    "call fails: its task calls another origin now, and has its secrets for that",
  "secret-unreadable":
    "call fails: a secret was not sealed for where it is stored, or its key is lost",
} as const;

const WARNED_EVERY_MS = 1_000;
const PLAIN = { kind: "ready", headers: {}, sent: [], credential: null, token: null } as const;

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
    const askedMs = clock.monotonicMs();
    const kept = this.#kept.get(job);
    const known = kept !== undefined && askedMs < kept.untilMs ? kept : null;
    const own =
      known?.ready ?? this.#ownNow(job, version) ?? (await this.#ownSoon(job, version, signal));
    if (own.kind === "unsent") return own;
    const startedMs = clock.monotonicMs();
    const authorized = mustAuthorize(own) ? await this.#authorize(job, own, signal) : own;
    const authorizedMs = clock.monotonicMs();
    const spentMs = authorizedMs - startedMs;
    const isOld = spentMs > READY_KEPT_MS;
    const ready = isOld ? await this.#readAgain(job, version, own, authorized, signal) : authorized;
    if (ready.kind === "unsent") return ready;
    if (!begin()) {
      const readMs = isOld ? authorizedMs : askedMs;
      this.#kept.set(job, { ready, untilMs: known?.untilMs ?? readMs + READY_KEPT_MS });
      return UNSENT;
    }
    if (ready.kind === "failed") return { ...ready, durationMs: Math.round(spentMs) };
    return this.#call(job, ready, spentMs, signal);
  }

  async #call(
    job: ClaimedJob,
    ready: Ready,
    spentMs: number,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const { caller, database, signer, tokens } = this.#deps;
    const call = buildCall(job, ready.request, ready.headers);
    const signed = signedHeaders(signer, ready.keys, job.id, database.nowMs(), call.body);
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

  /** Throws on what no store throws. */
  #noteAway(error: unknown): void {
    if (!(error instanceof OperatingError)) throw error;
    this.#warn(
      "calls wait: what they need cannot be read now; their jobs are given back",
      describeError(error),
    );
  }

  /** What most calls need, at once; null where something has to be asked for or opened. */
  #ownNow(job: ClaimedJob, version: CarriedVersion): Ready | null {
    const request = carriedRequest(job, version);
    if (request === null || namesSecrets(request)) return null;
    const keys = this.#deps.keys.knownKeysOf(job.tenantId);
    return keys === null ? null : { ...PLAIN, request, keys };
  }

  async #ownSoon(
    job: ClaimedJob,
    version: CarriedVersion,
    signal: AbortSignal,
  ): Promise<Ready | Failed | Unsent> {
    const work = this.#own(job, version);
    const outcome = await this.#within<Ready | Failed | Unsent>(OWN_MS_MAX, signal, work, UNSENT);
    if (outcome !== "late") return outcome;
    this.#warn("calls wait: what they need takes too long; their jobs are given back", {
      delayMs: OWN_MS_MAX,
    });
    return unavailable(job);
  }

  async #own(job: ClaimedJob, version: CarriedVersion): Promise<Ready | Failed | Unsent> {
    const { parts, opener, keys } = this.#deps;
    try {
      const request = carriedRequest(job, version) ?? (await loadRequest(this.#deps, job, version));
      if (request === null) return UNSENT;
      const named = namesSecrets(request);
      const [signing, known] = await Promise.all([
        keys.keysOf(job.tenantId),
        named ? parts.secretsOf(job.taskId) : [],
      ]);
      if (signing.length === 0) return this.#unreadable(job, "secret-unreadable");
      const plain = { ...PLAIN, request, keys: signing };
      if (!named) return plain;
      const asked = version.requestVersion;
      const secretsAreFor = await this.#versionOfSecrets(version, known);
      // Known from before this version: what is asked for next is its own.
      if (secretsAreFor < asked) return UNSENT;
      // Its task may have come back to its origin since: what ends it for good is asked for now.
      const stored = secretsAreFor > asked ? await parts.secretsNowOf(job.taskId) : known;
      if (secretsAreFor > asked && (await this.#versionOfSecrets(version, stored)) !== asked)
        return this.#unreadable(job, "secret-other-origin");
      const opened = await openSecrets(opener, job, request, stored);
      if (opened.kind === "failed") return this.#unreadable(job, opened.error);
      const { headers, credential } = opened;
      return { ...plain, headers, sent: Object.values(headers), credential };
    } catch (thrown) {
      if (!(thrown instanceof SecretsUnavailable)) {
        this.#noteAway(thrown);
        return UNSENT;
      }
      this.#warn("calls wait: their secrets cannot be opened now; their jobs are given back", {
        ...describeError(thrown),
      });
      return unavailable(job);
    }
  }

  /**
   * The version whose origin secrets are for: `version` itself where that is the origin that it calls. They are for that of their task's
   * newest version when they were read, which has to be looked at only where it is another one.
   */
  async #versionOfSecrets(
    version: CarriedVersion,
    stored: readonly StoredSecret[],
  ): Promise<number> {
    const asked = version.requestVersion;
    const newest = stored[0]?.requestVersion ?? asked;
    if (newest === asked) return asked;
    const found = await this.#deps.parts.versionOf(version.taskId, newest);
    const isSame = found !== null && originOf(found.request.url) === originOf(version.request.url);
    return isSame ? asked : newest;
  }

  /** With what the job's credential comes to, fetched within its timeout. */
  async #authorize(
    job: ClaimedJob,
    own: WithCredential,
    signal: AbortSignal,
  ): Promise<Ready | Failed> {
    const { credential } = own;
    const authorized = (authorization: string, sent: readonly string[], token: Ready["token"]) => {
      const headers = { ...own.headers, authorization };
      return { ...own, headers, sent: [...own.sent, ...sent], credential: null, token };
    };
    switch (credential.type) {
      case "bearer": {
        const token = credential.token.reveal();
        return authorized(`Bearer ${token}`, [token], null);
      }
      case "basic": {
        const password = credential.password.reveal();
        const pair = base64(`${credential.username}:${password}`);
        return authorized(`Basic ${pair}`, [password, pair], null);
      }
      case "oauth2": {
        const fetching = this.#deps.tokens.tokenOf(job.tenantId, credential);
        const got = await this.#within<TokenOutcome | typeof INTERRUPTED>(
          job.timeoutMs,
          signal,
          fetching,
          INTERRUPTED,
        );
        if (got === "late") return { kind: "failed", error: "timeout" };
        if (got.kind === "failed") return got;
        const token = got.token.secret.reveal();
        const sent = [token, credential.clientSecret.reveal()];
        return authorized(`Bearer ${token}`, sent, got.token);
      }
    }
  }

  /**
   * What a call carries besides its token, when that was waited for so long that secrets may have been changed. If the credential was,
   * the token is the old one's: the job goes back, and its next turn fetches its own.
   */
  async #readAgain(
    job: ClaimedJob,
    version: CarriedVersion,
    before: Ready | Failed,
    authorized: Ready | Failed,
    signal: AbortSignal,
  ): Promise<Ready | Failed | Unsent> {
    if (before.kind === "failed" || authorized.kind === "failed") return authorized;
    const own = await this.#ownSoon(job, version, signal);
    if (own.kind !== "ready") return own;
    if (textOf(own.credential) !== textOf(before.credential)) return UNSENT;
    const { keys } = own;
    // A version's secret headers are the same ones, whatever their values have become.
    const headers = { ...authorized.headers, ...own.headers };
    return { ...authorized, keys, headers, sent: [...own.sent, ...authorized.sent] };
  }

  /** Ends the wait, not the work: others may wait for it too. */
  async #within<Outcome>(
    timeoutMs: number,
    signal: AbortSignal,
    work: Promise<Outcome>,
    interrupted: Outcome,
  ): Promise<Outcome | "late"> {
    const { promise, resolve } = Promise.withResolvers<Outcome | "late">();
    const interrupt = () => resolve(interrupted);
    signal.addEventListener("abort", interrupt, { once: true });
    const cancel = this.#deps.clock.setTimer(timeoutMs, () => resolve("late"));
    try {
      return await Promise.race([work, promise]);
    } finally {
      cancel();
      signal.removeEventListener("abort", interrupt);
    }
  }

  #unreadable(job: ClaimedJob, code: keyof typeof WHY_FAILED): Failed {
    this.#warn(WHY_FAILED[code], { code, taskId: job.taskId, jobId: job.id });
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

function mustAuthorize(own: Ready | Failed): own is WithCredential {
  return own.kind === "ready" && own.credential !== null;
}

function textOf(credential: Credential | null): string | null {
  return credential === null ? null : writeCredential(credential).reveal();
}

/** Whoever waits for a test's answer is to be told. */
function unavailable({ trigger }: ClaimedJob): Failed | Unsent {
  const error = "secrets-unavailable";
  return trigger === "test" ? { kind: "failed", error } : { kind: "unsent", locked: true };
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

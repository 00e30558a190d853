/**
 * Access tokens of targets, by OAuth 2.0 client credentials (RFC 6749, 4.4). A token is fetched through the same guarded caller as
 * any call, once for all calls that wait for it, whichever of them goes on waiting, and kept in memory until shortly before it
 * expires. A target that answers 401 has it dropped, but at most once a minute: another 401 right after says that it is not the
 * token, or that the provider does not have a good one yet.
 */
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  TOKEN_DROPPED_EVERY_MS,
  TOKEN_FAILED_MS,
  TOKEN_FETCH_MS_MAX,
  TOKEN_KEPT_MS_DEFAULT,
  TOKEN_KEPT_MS_MAX,
  TOKEN_LEFT_MS,
  TOKEN_RESPONSE_BYTES_MAX,
  TOKENS_KEPT_MAX,
} from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Credential } from "#core/domain/target-auth.ts";
import { writeCredential } from "#core/domain/target-auth.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Digest } from "#core/ports/digest.ts";

type ClientCredential = Extract<Credential, { readonly type: "oauth2" }>;

/** A token in use; `key` names its credential. */
export interface AccessToken {
  readonly key: string;
  readonly secret: Secret;
}

export type TokenOutcome =
  | { readonly kind: "token"; readonly token: AccessToken }
  | { readonly kind: "failed"; readonly error: "auth-failed" };

interface AccessTokensDeps {
  readonly caller: Caller;
  readonly clock: Clock;
  readonly digest: Digest;
}

interface Kept {
  readonly outcome: TokenOutcome;
  readonly untilMs: number;
  /** From when a 401 drops it. */
  readonly dropFromMs: number;
}

/** Of a fetch, which ends by its own timeout. */
const NEVER = new AbortController().signal;
const TOKEN_TEXT = /^[\x21-\x7e]{1,16384}$/;

export class AccessTokens {
  readonly #deps: AccessTokensDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #fetching = new Map<string, Promise<TokenOutcome>>();

  constructor(deps: AccessTokensDeps) {
    this.#deps = deps;
  }

  /** The token that the credential has now, or gets. */
  async tokenOf(tenantId: TenantId, credential: ClientCredential): Promise<TokenOutcome> {
    const key = this.#keyOf(tenantId, credential);
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#deps.clock.monotonicMs() < kept.untilMs) return kept.outcome;
    const there = this.#fetching.get(key);
    if (there !== undefined) return there;
    const fetching = this.#fetch(key, tenantId, credential).finally(() =>
      this.#fetching.delete(key),
    );
    this.#fetching.set(key, fetching);
    return fetching;
  }

  /** The target has answered a call that carried the token. */
  noteAnswer({ key, secret }: AccessToken, statusCode: number): void {
    const kept = this.#kept.get(key);
    if (kept?.outcome.kind !== "token" || kept.outcome.token.secret !== secret) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (statusCode !== 401 || nowMs < kept.dropFromMs) return;
    this.#keep(key, { ...kept, untilMs: nowMs, dropFromMs: nowMs + TOKEN_DROPPED_EVERY_MS });
  }

  /** Two credentials that differ in anything have different keys, and a key says nothing about a credential. */
  #keyOf(tenantId: TenantId, credential: ClientCredential): string {
    return this.#deps.digest.sha256Hex(`${tenantId}\n${writeCredential(credential).reveal()}`);
  }

  async #fetch(
    key: string,
    tenantId: TenantId,
    credential: ClientCredential,
  ): Promise<TokenOutcome> {
    const { caller, clock } = this.#deps;
    const read = readToken(await caller.call(tokenCall(tenantId, credential), NEVER));
    const fetched: TokenOutcome =
      read === null
        ? { kind: "failed", error: "auth-failed" }
        : { kind: "token", token: { key, secret: read.secret } };
    const keptMs = read === null ? TOKEN_FAILED_MS : keptMsOf(read.expiresInMs);
    const nowMs = clock.monotonicMs();
    const dropFromMs = this.#kept.get(key)?.dropFromMs ?? nowMs;
    this.#keep(key, { outcome: fetched, untilMs: nowMs + keptMs, dropFromMs });
    return fetched;
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    forgetOldest(this.#kept, TOKENS_KEPT_MAX);
  }
}

function tokenCall(tenantId: TenantId, credential: ClientCredential): Call {
  const { tokenUrl, clientId, clientSecret, scope } = credential;
  const basic = `${formEncoded(clientId)}:${formEncoded(clientSecret.reveal())}`;
  const scoped = scope === null ? "" : `&scope=${formEncoded(scope)}`;
  return {
    tenantId,
    method: "POST",
    url: tokenUrl,
    headers: {
      authorization: `Basic ${btoa(basic)}`,
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
    },
    body: `grant_type=client_credentials${scoped}`,
    timeoutMs: TOKEN_FETCH_MS_MAX,
    responseBytesMax: TOKEN_RESPONSE_BYTES_MAX,
  };
}

/** As forms are written: RFC 6749 asks for it in the Basic header too. ASCII, whatever the text is. */
function formEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

/** Null for everything but a token that can be sent. */
function readToken(outcome: CallOutcome): { secret: Secret; expiresInMs: number | null } | null {
  if (outcome.kind !== "answered" || outcome.statusCode !== 200) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(outcome.responseBody);
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const fields = parsed as Readonly<Record<string, unknown>>;
  const { access_token: token, token_type: type = "bearer", expires_in: expiresIn } = fields;
  if (typeof token !== "string" || !TOKEN_TEXT.test(token)) return null;
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") return null;
  const seconds = secondsOf(expiresIn);
  return { secret: new Secret(token), expiresInMs: seconds === null ? null : seconds * 1_000 };
}

/** Null for what does not say: `null`, an empty text, anything that is neither number nor text. */
function secondsOf(expiresIn: unknown): number | null {
  const told = typeof expiresIn === "string" ? Number.parseFloat(expiresIn) : expiresIn;
  return typeof told === "number" && Number.isFinite(told) && told >= 0 ? told : null;
}

/** A short-lived token is kept for half of its time. */
function keptMsOf(expiresInMs: number | null): number {
  if (expiresInMs === null) return TOKEN_KEPT_MS_DEFAULT;
  return Math.min(TOKEN_KEPT_MS_MAX, Math.max(expiresInMs - TOKEN_LEFT_MS, expiresInMs / 2));
}

/** A shard in memory, a vault, and an endpoint: what an executor sends with, without claims and timers. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { masterKeyOf } from "#adapters/crypto/key-file.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import { Secret } from "#core/domain/secret.ts";
import {
  type Credential,
  secretOfCredential,
  shownAuth,
  writeCredential,
} from "#core/domain/target-auth.ts";
import type { HttpRequest, TaskVersion } from "#core/domain/task.ts";
import { AUTH_SECRET, headerSecret } from "#core/domain/task-secrets.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { type MasterKey, SecretsUnavailable } from "#core/ports/secrets.ts";
import { AccessTokens } from "#core/services/executor/call/access-tokens.ts";
import { CallParts } from "#core/services/executor/call/call-parts.ts";
import { CallSender, type Sent } from "#core/services/executor/call/send-call.ts";
import { SigningKeys } from "#core/services/executor/call/signing-keys.ts";
import { createTask } from "#core/services/tasks/create-task.ts";
import type { SecretSettings, TaskSettings } from "#core/services/tasks/task-settings.ts";
import { ManualClock } from "./manual-clock.ts";
import { secretParts } from "./secret-parts.ts";

export const ACME = "acme" as TenantId;
type Given = {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: Credential;
};

export function settingsOf({
  url = "https://example.com/hook",
  headers = {},
  credential,
}: Given): TaskSettings {
  const request: HttpRequest = {
    method: "POST",
    url,
    headers: { "X-Plain": "p" },
    body: "{}",
    bodyBase64: null,
    ...(Object.keys(headers).length > 0 ? { secretHeaders: Object.keys(headers) } : {}),
    ...(credential === undefined ? {} : { auth: shownAuth(credential) }),
  };
  const secrets: SecretSettings = {
    ...Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        const text = new Secret(value);
        return [headerSecret(name), { kind: "set", text, fingerprinted: text }];
      }),
    ),
    ...(credential === undefined
      ? {}
      : {
          [AUTH_SECRET]: {
            kind: "set",
            text: writeCredential(credential),
            fingerprinted: secretOfCredential(credential),
          },
        }),
  };
  return {
    name: null,
    description: null,
    tags: [],
    schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    request,
    timeoutMs: 30_000,
    retry: RETRY_DEFAULT,
    secrets,
  };
}

export type Endpoint = (
  call: Call,
  signal: AbortSignal,
) => Promise<Partial<Extract<CallOutcome, { kind: "answered" }>>>;

/** A shard, a vault, and an endpoint that answers 200 and tokens. */
export function openSendingWorld(
  endpoint: Endpoint = async () => ({}),
  real: MasterKey = masterKeyOf([randomBytes(32)]),
) {
  const clock = new ManualClock();
  const world = {
    away: null as string | null,
    keysAway: false,
    /** What the master key waits for before it unwraps anything. */
    keysWait: null as Promise<void> | null,
  };
  const shards = openMemoryShards({
    clock,
    hooks: {
      beforeCommit: async (verb) => {
        if (world.away === verb) throw new StoreUnavailable("away");
      },
    },
  });
  const fail = () => Promise.reject(new SecretsUnavailable("away"));
  const masterKey: MasterKey = {
    generate: (context) => (world.keysAway ? fail() : real.generate(context)),
    async unwrap(wrapped, context) {
      await world.keysWait;
      return world.keysAway ? fail() : real.unwrap(wrapped, context);
    },
  };
  const { vault, signer, digest } = secretParts(shards, masterKey, clock);
  const calls: Call[] = [];
  const caller: Caller = {
    async call(call, signal) {
      calls.push(call);
      const answer = await endpoint(call, signal);
      if (signal.aborted) return { kind: "failed", error: "interrupted", durationMs: 0 };
      const base = {
        kind: "answered",
        statusCode: 200,
        retryAfterMs: null,
        durationMs: 1,
      } as const;
      return { ...base, responseBody: "", ...answer };
    },
    close: async () => {},
  };
  const warned: unknown[] = [];
  const warn = (...line: unknown[]) => void warned.push(line);
  const logger = { info: warn, warn, error: warn };
  const [shard] = shards.all();
  assert(shard);
  const parts = new CallParts({ tasks: shard.tasks, clock });
  const keys = new SigningKeys({ parts, store: shard.secrets, vault, random: systemRandom });
  const tokens = new AccessTokens({ caller, clock, digest });
  const sender = new CallSender({
    tasks: shard.tasks,
    jobs: shard.jobs,
    caller,
    clock,
    database: clock,
    logger,
    parts,
    opener: vault,
    signer,
    keys,
    tokens,
  });
  const deps = {
    shards,
    clock,
    random: systemRandom,
    sealer: vault,
    retention: { succeededMs: 1, endedMs: 1 },
  };
  const stop = new AbortController();
  return Object.assign(world, {
    clock,
    shards,
    shard,
    calls,
    warned,
    deps,
    parts,
    sender,
    stop,
    make,
    send,
  });

  async function make(given: Given) {
    const created = await createTask(deps, ACME, settingsOf(given));
    assert(created.kind === "created");
    const { task, version } = created.created;
    const made = makeManualJob(task, "test", clock.nowMs(), 1, null);
    return { job: { ...made, attempt: 1 } as ClaimedJob, version };
  }
  function send({ job, version }: { job: ClaimedJob; version: TaskVersion }): Promise<Sent> {
    return sender.send(job, version, stop.signal, () => true);
  }
}

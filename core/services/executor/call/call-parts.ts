/**
 * What calls are made of, as it is in the database: versions, which never change, and secrets, which do and are asked for again.
 *
 * A claim asks for all that its jobs need and that is unknown or about to be too old, in one statement. A call whose secrets are
 * too old by the time it is sent, because it waited for a slot, asks again; such questions are put together, one statement at a
 * time. A database that is slow holds up no call for long whose secrets are known: those are good for a while more. Secrets stay
 * sealed here.
 */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import {
  SECRET_CHANGED_WITHIN_MS,
  SIGNING_ASKED_MS,
  SIGNING_KNOWN_MAX,
  SIGNING_KNOWN_MS,
  SIGNING_KNOWN_MS_MAX,
  TASK_SECRETS_ASKED_MS,
  TASK_SECRETS_KNOWN_MAX,
  TASK_SECRETS_KNOWN_MS,
  TASK_SECRETS_KNOWN_MS_MAX,
} from "#core/domain/limits.ts";
import { type HttpRequest, versionKey } from "#core/domain/task.ts";
import type { StoredSecret } from "#core/domain/task-secrets.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { SealedSigningSecret } from "#core/ports/secret-store.ts";
import type { CallPartsRequest, CarriedVersion, TaskStore } from "#core/ports/task-store.ts";
import { AgedValues } from "./aged-values.ts";
import { VersionCache } from "./version-cache.ts";

/** A database that takes longer over a question counts as one that does not answer, for who knows what was so before. */
const PATIENCE_MS = SECRET_CHANGED_WITHIN_MS - TASK_SECRETS_KNOWN_MS;

export type SigningRow = Pick<SealedSigningSecret, "id" | "sealed">;

type VersionKeys = CallPartsRequest["versions"];
type Versions = ReadonlyMap<string, CarriedVersion>;

interface Batch {
  readonly versions: Map<string, VersionKeys[number]>;
  readonly secretsOf: Set<TaskId>;
  readonly signingOf: Set<TenantId>;
  readonly loaded: Promise<Versions>;
}

interface CallPartsDeps {
  readonly tasks: Pick<TaskStore, "loadCallParts">;
  readonly clock: Clock;
}

export class CallParts {
  readonly #deps: CallPartsDeps;
  readonly #versions = new VersionCache();
  readonly #secrets: AgedValues<TaskId, readonly StoredSecret[]>;
  readonly #signing: AgedValues<TenantId, readonly SigningRow[]>;
  #next: Batch | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** When the question that is under way was sent. */
  #askedMs: number | null = null;

  constructor(deps: CallPartsDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#secrets = new AgedValues(clock, TASK_SECRETS_KNOWN_MAX);
    this.#signing = new AgedValues(clock, SIGNING_KNOWN_MAX);
  }

  /** The versions of `jobs`, in their order, null where one does not exist; by at most one statement, which brings secrets too. */
  async versionsOf(jobs: readonly ClaimedJob[]): Promise<(CarriedVersion | null)[]> {
    const found = new Map<string, CarriedVersion>();
    const missing: Batch["versions"] = new Map();
    const secretsOf = new Set<TaskId>();
    const signingOf = new Set<TenantId>();
    for (const { taskId, taskVersion, tenantId } of jobs) {
      if (this.#signing.find(tenantId, SIGNING_ASKED_MS) === null) signingOf.add(tenantId);
      const version = this.#versions.find(taskId, taskVersion);
      if (version === null)
        missing.set(versionKey(taskId, taskVersion), { taskId, requestVersion: taskVersion });
      else found.set(versionKey(taskId, taskVersion), version);
      // What is known may be from before a version that is new here, and lack what that one names.
      const known = version === null ? null : this.#secrets.find(taskId, TASK_SECRETS_ASKED_MS);
      const needed = version === null || namesSecrets(version.request);
      if (needed && known === null) secretsOf.add(taskId);
    }
    if (missing.size > 0 || secretsOf.size > 0 || signingOf.size > 0)
      for (const [key, version] of await this.#load([...missing.values()], secretsOf, signingOf))
        found.set(key, version);
    return jobs.map((job) => found.get(versionKey(job.taskId, job.taskVersion)) ?? null);
  }

  /** A version, whatever job has brought it here; null when it does not exist. Throws what the store throws. */
  async versionOf(taskId: TaskId, requestVersion: number): Promise<CarriedVersion | null> {
    const known = this.#versions.find(taskId, requestVersion);
    if (known !== null) return known;
    const key = versionKey(taskId, requestVersion);
    const batch = this.#nextBatch();
    batch.versions.set(key, { taskId, requestVersion });
    return (await batch.loaded).get(key) ?? null;
  }

  /** A task's secrets as they are. Throws what the store throws when nothing is known that is not too old. */
  async secretsOf(taskId: TaskId): Promise<readonly StoredSecret[]> {
    const known = this.#secrets.find(taskId, TASK_SECRETS_KNOWN_MS);
    if (known !== null) return known;
    const old = this.#secrets.find(taskId, TASK_SECRETS_KNOWN_MS_MAX - PATIENCE_MS);
    return this.#askForSecrets(taskId, old);
  }

  /** As they are now, whatever is known. Throws what the store throws. */
  secretsNowOf(taskId: TaskId): Promise<readonly StoredSecret[]> {
    return this.#askForSecrets(taskId, null);
  }

  #askForSecrets(
    taskId: TaskId,
    old: readonly StoredSecret[] | null,
  ): Promise<readonly StoredSecret[]> {
    return this.#askAgain(
      old,
      (batch) => batch.secretsOf.add(taskId),
      () => {
        return this.#secrets.find(taskId, TASK_SECRETS_KNOWN_MS_MAX) ?? [];
      },
    );
  }

  /** As signingOf, without asking; null when that is too long ago. */
  knownSigningOf(tenantId: TenantId): readonly SigningRow[] | null {
    return this.#signing.find(tenantId, SIGNING_KNOWN_MS);
  }

  /** A tenant's signing secrets that are valid, newest first; empty when it has none. Throws likewise. */
  async signingOf(tenantId: TenantId): Promise<readonly SigningRow[]> {
    const known = this.#signing.find(tenantId, SIGNING_KNOWN_MS);
    if (known !== null) return known;
    const old = this.#signing.find(tenantId, SIGNING_KNOWN_MS_MAX - PATIENCE_MS);
    return this.#askAgain(
      old,
      (batch) => batch.signingOf.add(tenantId),
      () => {
        return this.#signing.find(tenantId, SIGNING_KNOWN_MS_MAX) ?? [];
      },
    );
  }

  /** Takes note of what a tenant has now. */
  noteSigning(tenantId: TenantId, rows: readonly SigningRow[]): void {
    this.#signing.set(tenantId, rows, this.#deps.clock.monotonicMs());
  }

  async #askAgain<Value>(
    old: Value | null,
    ask: (batch: Batch) => void,
    answer: () => Value,
  ): Promise<Value> {
    const batch = this.#nextBatch();
    ask(batch);
    if (old !== null) return (await this.#isLoadedSoon(batch)) ? answer() : old;
    await batch.loaded;
    return answer();
  }

  /** False: it failed, or the database has been at the question before it, or at this one, for too long. */
  async #isLoadedSoon({ loaded }: Batch): Promise<boolean> {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const late = Promise.withResolvers<boolean>();
    const leftMs = Math.max(0, (this.#askedMs ?? nowMs) + PATIENCE_MS - nowMs);
    const cancel = clock.setTimer(leftMs, () => late.resolve(false));
    const isLoaded = loaded.then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([isLoaded, late.promise]);
    } finally {
      cancel();
    }
  }

  /** Sent as soon as the one before is answered. */
  #nextBatch(): Batch {
    if (this.#next !== null) return this.#next;
    const versions: Batch["versions"] = new Map();
    const secretsOf = new Set<TaskId>();
    const signingOf = new Set<TenantId>();
    const loaded = this.#last.then(async () => {
      this.#next = null;
      this.#askedMs = this.#deps.clock.monotonicMs();
      try {
        return await this.#load([...versions.values()], secretsOf, signingOf);
      } finally {
        this.#askedMs = null;
      }
    });
    this.#last = loaded.catch(() => {});
    this.#next = { versions, secretsOf, signingOf, loaded };
    return this.#next;
  }

  async #load(
    versions: VersionKeys,
    secretsOf: ReadonlySet<TaskId>,
    signingOf: ReadonlySet<TenantId>,
  ): Promise<Versions> {
    // What is answered was so when it was asked, at the earliest.
    const askedMs = this.#deps.clock.monotonicMs();
    const parts = await this.#deps.tasks.loadCallParts({
      versions,
      secretsOf: [...secretsOf],
      signingOf: [...signingOf],
    });
    for (const id of secretsOf) this.#secrets.set(id, parts.secrets.get(id) ?? [], askedMs);
    for (const id of signingOf) this.#signing.set(id, parts.signing.get(id) ?? [], askedMs);
    for (const version of parts.versions) this.#versions.keep(version);
    return new Map(
      parts.versions.map((version) => [
        versionKey(version.taskId, version.requestVersion),
        version,
      ]),
    );
  }
}

/** Whether a call of this request needs secrets of its task. */
export function namesSecrets({ secretHeaders, auth }: HttpRequest): boolean {
  return auth !== undefined || (secretHeaders !== undefined && secretHeaders.length > 0);
}

/**
 * Envelope encryption: a secret is sealed under a data key of its tenant, the data key is wrapped by the master key and stored
 * beside the secrets. Who seals asks for a new data key and keeps it for an hour; who opens unwraps each data key once and keeps
 * it for a quarter of one. So no job costs a call to where the master key is, and who only seals needs no right to unwrap.
 */
import { createHmac, randomBytes } from "node:crypto";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  DATA_KEY_KNOWN_MS,
  DATA_KEY_KNOWN_MS_MAX,
  DATA_KEY_REFUSED_MS,
  DATA_KEYS_KNOWN_MAX,
  SEALING_KEY_MS,
} from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { SecretStore, WrappedKey } from "#core/ports/secret-store.ts";
import {
  type KeyContext,
  type MasterKey,
  type Opener,
  type Sealer,
  type SecretPlace,
  SecretsUnavailable,
} from "#core/ports/secrets.ts";
import { keyIdOf, openText, sealText } from "./sealed-text.ts";
import { TimedCache } from "./timed-cache.ts";

export type Vault = Sealer & Opener;

export interface VaultOptions {
  readonly masterKey: MasterKey;
  /** Where the tenant's data keys are. */
  readonly storeOf: (tenantId: TenantId) => SecretStore;
  readonly clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** How long nobody asks again of a master key that does not serve. By a timer, and none runs in a frozen function: 0 there. */
  readonly refusedMs: number;
}

const ID_BYTES = 16;

export function openVault({ masterKey, storeOf, clock, refusedMs }: VaultOptions): Vault {
  const cache = (knownMs: number, knownMsMax: number) => ({
    clock,
    knownMs,
    knownMsMax,
    noneMs: DATA_KEY_REFUSED_MS,
    refusedMs,
    sizeMax: DATA_KEYS_KNOWN_MAX,
  });
  const unwrapped = cache(DATA_KEY_KNOWN_MS, DATA_KEY_KNOWN_MS_MAX);
  // What seals is replaced in time whatever happens: the less one key has sealed, the less it opens.
  const sealing = new TimedCache<{ id: string; plain: Uint8Array }>(
    cache(SEALING_KEY_MS, SEALING_KEY_MS),
  );
  const opening = new TimedCache<Uint8Array>(unwrapped);
  const marking = new TimedCache<Uint8Array>(unwrapped);

  async function makeKey(context: KeyContext): Promise<WrappedKey & { plain: Uint8Array }> {
    const { plain, wrapped } = await masterKey.generate(context);
    return { ...context, id: randomBytes(ID_BYTES).toString("hex"), wrapped, plain };
  }

  async function sealingKey(tenantId: TenantId) {
    const key = await sealing.get(tenantId, async () => {
      const { plain, ...stored } = await makeKey({ tenantId, purpose: "seal" });
      await storeOf(tenantId).addDataKey(stored);
      return { id: stored.id, plain };
    });
    if (key === null) throw new Error("a data key is always made (indicates a bug)");
    return key;
  }

  /** One for good: what it has marked is compared for as long as it is stored. */
  async function markingKey(tenantId: TenantId): Promise<Uint8Array> {
    const context = { tenantId, purpose: "fingerprint" } as const;
    const key = await marking.get(tenantId, async () => {
      const there = await storeOf(tenantId).firstDataKey(context);
      if (there !== null) return masterKey.unwrap(there.wrapped, context);
      const { plain, ...made } = await makeKey(context);
      const kept = await storeOf(tenantId).keepDataKey(made);
      return kept.id === made.id ? plain : masterKey.unwrap(kept.wrapped, context);
    });
    if (key === null)
      throw new SecretsUnavailable(
        "the tenant's fingerprint key was wrapped by another master key",
      );
    return key;
  }

  return {
    async seal(place: SecretPlace, text: Secret) {
      const { id, plain } = await sealingKey(place.tenantId);
      return sealText(plain, id, place, text.reveal());
    },
    async fingerprint(tenantId, text) {
      const key = await markingKey(tenantId);
      return createHmac("sha256", key).update(text.reveal(), "utf8").digest("hex");
    },
    async open(place, sealed) {
      const { tenantId } = place;
      const id = keyIdOf(sealed);
      if (id === null) return null;
      const context = { tenantId, purpose: "seal" } as const;
      const key = await opening.get(`${tenantId}/${id}`, async () => {
        const stored = await storeOf(tenantId).findDataKey(context, id);
        return stored === null ? null : masterKey.unwrap(stored.wrapped, context);
      });
      if (key === null) return null;
      const text = openText(key, place, sealed);
      return text === null ? null : new Secret(text);
    },
  };
}

/** Throws ConfigurationInvalid when data keys of the shard were wrapped by another master key, or by a line that a key file has no longer: what is sealed under them would not open. */
export async function assertMasterKeyFits(
  masterKey: MasterKey,
  store: Pick<SecretStore, "sampleDataKeys">,
  setting: string,
): Promise<void> {
  for (const sample of await store.sampleDataKeys()) {
    if ((await masterKey.unwrap(sample.wrapped, sample)) !== null) continue;
    throw new ConfigurationInvalid(
      `configuration: ${setting} is not the key that the secrets in this database were sealed with, or lacks a line of it: bring that back`,
    );
  }
}

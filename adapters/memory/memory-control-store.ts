/** Tenants' keys in memory. */
import type { ControlStore, Principal } from "#core/ports/control-store.ts";

export class MemoryControlStore implements ControlStore {
  readonly #principals = new Map<string, Principal>();

  /** Adds a live key by its SHA-256 (hex). */
  addKey(keyHash: string, principal: Principal): void {
    this.#principals.set(keyHash, principal);
  }

  removeKey(keyHash: string): void {
    this.#principals.delete(keyHash);
  }

  async findPrincipalByKeyHash(keyHash: string): Promise<Principal | null> {
    return this.#principals.get(keyHash) ?? null;
  }
}

/**
 * Data keys are asked for one by one, by each tenant's first call, and at a peak by hundreds at once: what is asked for while a read
 * is under way goes into the next.
 */
import type { WrappedKey } from "#core/ports/secret-store.ts";
import type { KeyContext, KeyPurpose } from "#core/ports/secrets.ts";
import { readTenantId } from "./cells.ts";
import type { Row } from "./pool.ts";
import { selectDataKeysSql } from "./statements/data-keys.ts";
import type { Database } from "./transaction.ts";

const KEYS_MAX = 200;

export type DataKeyName = KeyContext & Pick<WrappedKey, "id">;

interface Asked {
  readonly name: DataKeyName;
  readonly answer: (key: WrappedKey | null) => void;
  readonly fail: (error: unknown) => void;
}

export class DataKeyReads {
  readonly #database: Pick<Database, "select">;
  #waiting: Asked[] = [];
  #reading = false;

  constructor(database: Pick<Database, "select">) {
    this.#database = database;
  }

  /** Null when there is none. Throws what the database throws. */
  find(name: DataKeyName): Promise<WrappedKey | null> {
    return new Promise((answer, fail) => {
      this.#waiting.push({ name, answer, fail });
      if (!this.#reading) void this.#readAll();
    });
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    // Whoever asks in the same turn is in the first read.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#read(this.#waiting.splice(0, KEYS_MAX));
    this.#reading = false;
  }

  async #read(asked: readonly Asked[]): Promise<void> {
    try {
      const rows = await this.#database.select(selectDataKeysSql(asked.map(({ name }) => name)));
      const found = new Map(rows.map(readDataKey).map((key) => [textOf(key), key]));
      for (const { name, answer } of asked) answer(found.get(textOf(name)) ?? null);
    } catch (error) {
      for (const { fail } of asked) fail(error);
    }
  }
}

function textOf({ tenantId, purpose, id }: DataKeyName): string {
  return `${tenantId} ${purpose} ${id}`;
}

export function readDataKey([tenantId, purpose, id, wrapped]: Row): WrappedKey {
  return {
    tenantId: readTenantId(tenantId),
    purpose: purpose as KeyPurpose,
    id: (id as Buffer).toString("hex"),
    wrapped: wrapped as Buffer,
  };
}

/** As the sample of data keys names them. */
export function readDataKeyName(name: string): DataKeyName {
  const [tenantId = "", purpose, id = ""] = name.split("/");
  return {
    tenantId: readTenantId(tenantId),
    purpose: purpose as KeyPurpose,
    id: id.toLowerCase(),
  };
}

/** Requests by (task, request version), which never change: a least-recently-used cache bounded by bytes. */
import type { TaskId } from "#core/domain/ids.ts";
import { VERSION_CACHE_BYTES_MAX } from "#core/domain/limits.ts";
import { versionKey } from "#core/domain/task.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";

const OVERHEAD_BYTES = 500;
/** Of a text, on top of its characters. */
const TEXT_BYTES = 24;

export class VersionCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { version: CarriedVersion; bytes: number }>();
  #bytes = 0;

  constructor(bytesMax: number = VERSION_CACHE_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  find(taskId: TaskId, requestVersion: number): CarriedVersion | null {
    const key = versionKey(taskId, requestVersion);
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.version;
  }

  keep(version: CarriedVersion): void {
    const key = versionKey(version.taskId, version.requestVersion);
    const bytes = sizeOf(version);
    if (bytes > this.#bytesMax || this.#entries.has(key)) return;
    this.#entries.set(key, { version, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}

/** Bytes in memory, near enough: two a character of all that may be long or many. */
function sizeOf({ request }: CarriedVersion): number {
  const { url, headers, secretHeaders = [], auth, body, bodyBase64 } = request;
  const authTexts: (string | null)[] = Object.values(auth ?? {});
  let bytes = OVERHEAD_BYTES;
  const count = (text: string) => {
    bytes += TEXT_BYTES + 2 * text.length;
  };
  for (const [name, value] of Object.entries(headers)) {
    count(name);
    count(value);
  }
  for (const text of [url, ...secretHeaders, ...authTexts, body, bodyBase64])
    if (text !== null) count(text);
  return bytes;
}

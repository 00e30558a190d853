/** Planted secrets, and the search for them in whatever form text takes on its way into a log. */
import { randomBytes } from "node:crypto";

export class Canaries {
  readonly #run = randomBytes(6).toString("hex");
  readonly #byKind = new Map<string, string>();

  /** A text that occurs nowhere else: letters and digits, so that no encoding of URLs or JSON changes it. One for each kind. */
  plant(kind: string): string {
    const planted = this.#byKind.get(kind);
    if (planted !== undefined) return planted;
    const text = `canary${this.#byKind.size}x${this.#run}`;
    this.#byKind.set(kind, text);
    return text;
  }

  /** A secret that somebody else has made. */
  adopt(kind: string, text: string): void {
    this.#byKind.set(kind, text);
  }

  get kinds(): readonly string[] {
    return [...this.#byKind.keys()];
  }

  /** Kinds of which something is in `text`. */
  foundIn(text: string, kinds: readonly string[] = this.kinds): string[] {
    // A secret in another case is as good as known.
    const lowerCase = text.toLowerCase();
    return kinds.filter((kind) => {
      const canary = this.#byKind.get(kind) ?? "";
      return (
        lowerCase.includes(canary.toLowerCase()) ||
        lowerCase.includes(Buffer.from(canary).toString("hex")) ||
        base64Forms(canary).some((form) => text.includes(form))
      );
    });
  }
}

/** What of base64 is the same whatever stands before and after, at each of the three offsets. */
function base64Forms(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from("x".repeat(before) + text).toString("base64");
    return encoded.slice(before === 0 ? 0 : 4, -4);
  });
}

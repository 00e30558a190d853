/** What a runtime's inspector asks an object for (Node's `util.inspect`, and with it its console and its assertions). */
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** Text that must not be shown: written, inspected, logged or put into JSON by mistake, it says `[secret]`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for whoever has to send, seal or show it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [INSPECT](): string {
    return "[secret]";
  }
}

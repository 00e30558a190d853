/** Where in the MySQL protocol a connection through the proxy breaks. */

/**
 * `hold`: the statement does not reach the server and the connection stands still, for its client to be killed in.
 * `cut-before`: the statement does not reach the server and the connection is reset.
 * `cut-answer`: the server has done the statement, its answer is lost and the connection is reset.
 */
export type FaultKind = "hold" | "cut-before" | "cut-answer";

export interface FaultSpec {
  readonly kind: FaultKind;
  /** How the statement begins, such as `COMMIT`. */
  readonly at: string;
  /** Only where an earlier statement of the same transaction contains this. */
  readonly inTransactionWith?: string;
  /** Only where the statement is a transaction of its own. */
  readonly alone?: boolean;
  /** The first statement that meets it, counted from 1 over all connections; 1 when left out. */
  readonly from?: number;
  /** How often it strikes from there on; once when left out. */
  readonly times?: number;
}

export interface Fault {
  /** Resolves when it strikes for the first time. */
  readonly happened: Promise<void>;
  readonly struck: number;
}

/** All faults of one proxy. */
export class Faults {
  readonly #armed: { spec: FaultSpec; met: number; struck: number; resolve: () => void }[] = [];

  add(spec: FaultSpec): Fault {
    const { promise, resolve } = Promise.withResolvers<void>();
    const armed = { spec, met: 0, struck: 0, resolve };
    this.#armed.push(armed);
    return {
      happened: promise,
      get struck() {
        return armed.struck;
      },
    };
  }

  /** The fault that strikes at `statement`, given those before it in its transaction (null: there is none); null for none. */
  meet(statement: string, earlier: readonly string[] | null): FaultKind | null {
    for (const armed of this.#armed) {
      const { at, inTransactionWith, alone, from = 1, times = 1, kind } = armed.spec;
      if (armed.struck >= times || !statement.startsWith(at)) continue;
      if (alone === true && earlier !== null) continue;
      if (
        inTransactionWith !== undefined &&
        !earlier?.some((text) => text.includes(inTransactionWith))
      )
        continue;
      armed.met++;
      if (armed.met < from) continue;
      armed.struck++;
      armed.resolve();
      return kind;
    }
    return null;
  }
}

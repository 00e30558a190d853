/**
 * How many rows one write is for. What a database that is slow does not end by the deadline is rolled back, and would be asked for again as
 * it was, for ever: half as many may end in time. After each full group that did, a step more, or twice as many where that is less, or where
 * it is long since one did not.
 */
import { assert } from "./assert.ts";
import { OperatingError, OutcomeUnknown } from "./errors.ts";

/** Steps from the least to the most. */
const STEPS = 25;
/** So many in a row, full or not, and it is long since one was not done. A database that is always asked for all that it can does not get there. */
const LONG = 25;

export class GroupSize {
  readonly #least: number;
  readonly #most: number;
  #rowsMax: number;
  #inARow = 0;

  /** Between `least` and `most` rows; `most` to begin with. */
  constructor(most: number, least = 1) {
    assert(least >= 1 && least <= most, "a group has a row");
    this.#least = least;
    this.#most = most;
    this.#rowsMax = most;
  }

  /** Rows of a group at most. */
  get rowsMax(): number {
    return this.#rowsMax;
  }

  /** Runs one write of `rows` and learns from how it ends. `done` tells how many rows it had to do with, where those may be fewer. */
  async learn<Result>(
    rows: number,
    write: () => Promise<Result>,
    done: (result: Result) => number = () => rows,
  ): Promise<Result> {
    try {
      const result = await write();
      this.#inARow++;
      if (done(result) >= this.#rowsMax) this.#grow();
      return result;
    } catch (error) {
      this.#inARow = 0;
      // A write of which nobody knows has been done as a whole, or is being done: smaller ones take no less of a COMMIT.
      if (error instanceof OperatingError && error.retryable && !(error instanceof OutcomeUnknown))
        this.#rowsMax = Math.max(this.#least, Math.min(this.#rowsMax, Math.floor(rows / 2)));
      throw error;
    }
  }

  #grow(): void {
    const step = this.#inARow > LONG ? this.#most : Math.ceil(this.#most / STEPS);
    this.#rowsMax = Math.min(this.#most, this.#rowsMax + Math.min(this.#rowsMax, step));
  }
}

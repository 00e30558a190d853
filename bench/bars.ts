/**
 * Bars that ratios are held to. Each ratio is of a pair of legs of the same round; what the machine's noise is, is told by legs of
 * the same thing in the same rounds (A against A). A median counts as above or below its bar only where it is further from it than
 * A was from A.
 */
import { median, quantile, rounded } from "./figures.ts";
import type { Figure } from "./scenario.ts";

export interface Bar {
  readonly what: string;
  readonly bound: "at least" | "at most";
  readonly value: number;
}

export interface BarFigures {
  readonly [name: string]: Figure;
  readonly what: string;
  /** As it is written: "≥ 0.5". */
  readonly bar: string;
  readonly pairs: number;
  readonly ratioMedian: number | null;
  /** The smallest and the largest ratio of A to A. */
  readonly spreadAA: readonly (number | null)[];
  readonly met: boolean;
  /** Whether the median is further from the bar than A was from A. */
  readonly outsideAA: boolean;
}

/** A bar is met by the median alone; `outsideAA` says whether that may be more than noise. False of none. */
export function holdToBar(
  { what, bound, value }: Bar,
  ratios: readonly number[],
  aToA: readonly number[],
): BarFigures {
  const middle = median(ratios);
  const [least, most] = [quantile(aToA, 0), quantile(aToA, 1)];
  const toBar = middle / value;
  return {
    what,
    bar: `${bound === "at least" ? "≥" : "≤"} ${value}`,
    pairs: ratios.length,
    ratioMedian: rounded(middle),
    spreadAA: [rounded(least), rounded(most)],
    met: bound === "at least" ? middle >= value : middle <= value,
    // A drift that all pairs share lies between 1 and the spread.
    outsideAA: toBar < Math.min(1, least) || toBar > Math.max(1, most),
  };
}

/** Rows of a table, heads first. */
export function barRows(bars: readonly BarFigures[]): string[][] {
  return [
    ["bar", "", "median", "pairs", "A ÷ A", ""],
    ...bars.map(({ what, bar, ratioMedian, pairs, spreadAA, met, outsideAA }) => [
      what,
      bar,
      String(ratioMedian),
      String(pairs),
      spreadAA.join("–"),
      `${met ? "met" : "not met"}${outsideAA ? "" : ", inside A ÷ A"}`,
    ]),
  ];
}

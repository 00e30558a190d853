/**
 * What failed in one write, to be tried again apart from all else: in halves, until what the database never takes stands alone. What has
 * failed alone comes after all others, one after the other in turn.
 */

/** After so many failures in a row, with nothing written between, the database is at fault and no row: groups stay as they are. */
const SPLIT_FAILURES_MAX = 50;

export class FailedGroups<Item> {
  #groups: Item[][] = [];
  #alone: Item[] = [];
  #failures = 0;
  #count = 0;

  /** Items. */
  get count(): number {
    return this.#count;
  }

  /** What is left has failed alone. */
  get isAlone(): boolean {
    return this.#groups.length === 0;
  }

  /** So many failures in a row say nothing of the items any more. */
  get isDatabaseAway(): boolean {
    return this.#failures >= SPLIT_FAILURES_MAX;
  }

  /** Takes the next group, of `most` items at most; none where nothing is left. */
  take(most: number): Item[] {
    const group = this.#groups.shift() ?? this.#alone.splice(0, 1);
    const rest = group.splice(most);
    if (rest.length > 0) this.#groups.unshift(rest);
    this.#count -= group.length;
    return group;
  }

  /** A write ended well, whoever's. */
  written(): void {
    this.#failures = 0;
  }

  /** A write of these failed, whoever's; they are kept. */
  failed(group: readonly Item[]): void {
    const middle = Math.ceil(group.length / 2);
    if (group.length <= 1) this.#alone.push(...group);
    else if (this.isDatabaseAway) this.#groups.push([...group]);
    else this.#groups.unshift(group.slice(0, middle), group.slice(middle));
    this.#failures++;
    this.#count += group.length;
  }

  clear(): void {
    this.#groups = [];
    this.#alone = [];
    this.#failures = 0;
    this.#count = 0;
  }
}

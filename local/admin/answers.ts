import type { AdminAnswer } from "./arguments.ts";

// How lists are read and shown by `npm run admin`.

const PAGE = 500;

/** All pages of a list, one after the other. */
export async function readAll<Item>(
  read: (after: Item | null, limit: number) => Promise<Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read(all.at(-1) ?? null, PAGE);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

/** A list as a table with a head, or as `{"items": […]}`. */
export function listAnswer<Item>(
  items: readonly Item[],
  present: (item: Item) => unknown,
  columns: Readonly<Record<string, (item: Item) => string>>,
): AdminAnswer {
  const head = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((show) => show(item)));
  const widths = head.map((name, at) =>
    rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), name.length),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  const lines = items.length === 0 ? ["there are none"] : [head, ...rows].map(line);
  return { json: { items: items.map(present) }, lines };
}

/** `2026-12-01T09:00:00.000Z` */
export function isoInstant(ms: number): string {
  return new Date(ms).toISOString();
}

/** One page of a list: as many items as fit into PAGE_BYTES_MAX, at least one, and the cursor to go on with. */
import { PAGE_BYTES_MAX } from "#core/domain/limits.ts";
import { bytesInAnswer } from "./answer-bytes.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** Whether the list goes on after these. */
  readonly more: boolean;
  /** Where it goes on after all of them; after the last of them when this is not given. */
  readonly endCursor?: string | null;
  /** Members of the answer besides items and cursor. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The page as JSON text. `cursorAfter` is asked for the last item that it holds, when others follow. */
export function writePage<T>(
  page: Page<T>,
  present: (item: T) => unknown,
  cursorAfter: (item: T) => string,
  bytesMax: number = PAGE_BYTES_MAX,
): string {
  const texts: string[] = [];
  let bytes = 0;
  for (const item of page.items) {
    const text = JSON.stringify(present(item));
    bytes += bytesInAnswer(text);
    if (bytes > bytesMax && texts.length > 0) break;
    texts.push(text);
  }
  const nextCursor = JSON.stringify(nextCursorOf(page, texts.length, cursorAfter));
  const fields = Object.entries(page.fields ?? {}).map(
    ([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return `{"items":[${texts.join(",")}],"nextCursor":${nextCursor}${fields.join("")}}`;
}

function nextCursorOf<T>(
  { items, more, endCursor }: Page<T>,
  written: number,
  cursorAfter: (item: T) => string,
): string | null {
  if (written === items.length && endCursor !== undefined) return endCursor;
  const last = items[written - 1];
  return (more || written < items.length) && last !== undefined ? cursorAfter(last) : null;
}

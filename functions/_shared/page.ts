/** One page of a list: as many items as fit into PAGE_BYTES_MAX, at least one, and the cursor to go on with. */
import { PAGE_BYTES_MAX } from "#core/domain/limits.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** Whether the store has rows after these. */
  readonly more: boolean;
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
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > bytesMax && texts.length > 0) break;
    texts.push(text);
  }
  const last = page.items[texts.length - 1];
  const more = page.more || texts.length < page.items.length;
  const nextCursor = more && last !== undefined ? cursorAfter(last) : null;
  return `{"items":[${texts.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
}

import type { TestEvent } from "node:test/reporters";

/** What one stage came to. */
export type Counts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Of those skipped, which and why; left out where none was. */
  readonly skips?: readonly string[];
};

/**
 * Reporter for `node --test`: one line of JSON (`Counts`) at the end of the run. A file in which no test ran is a
 * failure: node itself would call it a passed test.
 */
// biome-ignore lint/style/noDefaultExport: node loads a reporter by its default export
export default async function* countReporter(
  events: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  let emptyFiles = 0;
  const skips: string[] = [];
  for await (const event of events) {
    if (event.type === "test:pass") skips.push(...skipsOf(event.data));
    if (event.type === "test:pass" && standsForFile(event.data)) emptyFiles += 1;
    if (event.type !== "test:summary" || event.data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = event.data.counts;
    const ended: Counts = {
      passed: passed - emptyFiles,
      failed: tests - passed - skipped - todo + emptyFiles,
      skipped: skipped + todo,
      ...(skips.length === 0 ? {} : { skips }),
    };
    yield `${JSON.stringify(ended)}\n`;
  }
}

function skipsOf({ name, skip, todo }: { name: string; skip?: unknown; todo?: unknown }) {
  const why = skip ?? todo;
  if (why === undefined || why === false) return [];
  return [`${name}: ${typeof why === "string" && why !== "" ? why : "no reason given"}`];
}

/** Node reports a file in which no test ran as one test that bears the file's name. */
function standsForFile({ name, nesting, file }: { name: string; nesting: number; file?: string }) {
  return nesting === 0 && file?.endsWith(`/${name}`) === true;
}

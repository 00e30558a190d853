/** What `npm test` runs, in order. */
import { globSync } from "node:fs";

/** A stage that is one command: it counts as one test. */
export type GateStage = {
  readonly kind: "gate";
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly deadlineMs: number;
};

/** A stage of test files, given to one `node --test`. */
export type FileStage = {
  readonly kind: "files";
  readonly name: string;
  /** Paths from the root of the repository. */
  readonly files: readonly string[];
  /** Files that run at the same time. */
  readonly concurrency: number;
  /** Whether its tests are given a real MySQL in MYSQL_URL and a real Cassandra in CASSANDRA_CONTACT_POINTS. */
  readonly needsDatabases: boolean;
  /** For one file; names the one that hangs before the stage's deadline ends them all. */
  readonly fileDeadlineMs: number;
  readonly deadlineMs: number;
};

export type Stage = GateStage | FileStage;

const MINUTE_MS = 60_000;

/** Everything together; each stage has less. */
export const runDeadlineMs = 19 * MINUTE_MS;

const databaseRooms = ["contract", "integration", "e2e", "localstack", "schemathesis"];
/** Of e2e: what measures under load has the machine to itself; the others mostly wait, and run two at a time. */
const underLoad = ["critical-quota", "drain", "faults", "limits", "races", "rescue"].map(
  (name) => `test/e2e/${name}.test.ts`,
);
const outside = /(^|\/)(node_modules|cdk\.out|\.local)\//;

/** All stages, with the test files that are below `root` now. Every `*.test.ts` belongs to exactly one. */
export function listStages(root: string): readonly Stage[] {
  const files = globSync("**/*.test.ts", { cwd: root, exclude: (path) => outside.test(`${path}/`) })
    .filter((path) => !outside.test(path))
    .sort();
  const room = (path: string) => /^test\/([^/]+)\//.exec(path)?.[1] ?? "";
  return [
    { kind: "gate", name: "check", command: ["npm", "run", "check"], deadlineMs: 3 * MINUTE_MS },
    { kind: "gate", name: "synth", command: ["npm", "run", "synth"], deadlineMs: MINUTE_MS },
    {
      kind: "files",
      name: "unit",
      files: files.filter((path) => !databaseRooms.includes(room(path))),
      concurrency: 2,
      needsDatabases: false,
      fileDeadlineMs: 3 * MINUTE_MS,
      deadlineMs: 8 * MINUTE_MS,
    },
    ...databaseRooms.flatMap((name): FileStage[] => {
      const own = files.filter((path) => room(path) === name);
      const stage = {
        kind: "files",
        needsDatabases: true,
        fileDeadlineMs: 5 * MINUTE_MS,
        deadlineMs: 7 * MINUTE_MS,
      } as const;
      if (name !== "e2e")
        return [{ ...stage, name, files: own, concurrency: name === "integration" ? 2 : 1 }];
      const loaded = own.filter((path) => underLoad.includes(path));
      const waiting = own.filter((path) => !underLoad.includes(path));
      return [
        { ...stage, name, files: waiting, concurrency: 2 },
        { ...stage, name: "load", files: loaded, concurrency: 1 },
      ];
    }),
  ];
}

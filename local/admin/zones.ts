import { OperatingError } from "#core/domain/errors.ts";
import type { Tenant } from "#core/ports/control-store.ts";
import { moveRuns } from "#core/services/tasks/move-runs.ts";
import { readAll } from "./answers.ts";
import { type AdminAnswer, type AdminCommand, type AdminDeps, refuse } from "./arguments.ts";

const TOLD_TASKS = 10_000;

export const zoneCommands: readonly AdminCommand[] = [
  {
    name: "zones apply",
    operands: [],
    options: {},
    about:
      "moves next runs to where this release's time zone data has them: after a release with newer data, when its workers run",
    run: apply,
  },
];

async function apply({ control, withShards }: AdminDeps): Promise<AdminAnswer> {
  const zoneData = process.versions.tz ?? "none";
  const tenants = await readAll((after: Tenant | null, limit) =>
    control.listTenants(after?.id ?? null, limit),
  );
  let tasks = 0;
  let moved = 0;
  const told = () => `${tasks} tasks looked at, ${moved} next runs moved`;
  const tell = (more: number, movedMore: number) => {
    const isWorthALine = Math.floor((tasks + more) / TOLD_TASKS) > Math.floor(tasks / TOLD_TASKS);
    tasks += more;
    moved += movedMore;
    if (isWorthALine) process.stderr.write(`${told()}\n`);
  };
  try {
    await withShards(async (shards) => {
      for (const { id } of tenants) await moveRuns(shards, id, tell);
    });
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    refuse(`${error.message}; ${told()} before: run it again, what is done stays so`);
  }
  return {
    json: { zoneData, tasks, moved },
    lines: [`time zone data ${zoneData}: ${told()}`],
  };
}

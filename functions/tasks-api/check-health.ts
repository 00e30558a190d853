/** GET /v1/health: whether every database answers. */
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { PrincipalStore } from "#core/ports/control-store.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { ApiAnswer } from "../_shared/api-event.ts";
import { withDeadline } from "../_shared/deadline.ts";
import { HttpProblem } from "../_shared/problem.ts";

export interface HealthDeps {
  readonly control: PrincipalStore;
  readonly shards: Shards;
  readonly clock: Clock;
}

const ANSWER_MS = 2_000;
/** The hash of no key: looking it up costs what looking up a key costs. */
const NO_KEY_HASH = "0".repeat(64);

/** 200 when all answer, else 503 that names the parts which do not. */
export async function checkHealth({ control, shards, clock }: HealthDeps): Promise<ApiAnswer> {
  const parts: [string, Promise<unknown>][] = [
    ["control database", control.findPrincipalByKeyHash(NO_KEY_HASH)],
    ...shards
      .all()
      .map(({ name, jobs }): [string, Promise<unknown>] => [
        `database of shard ${name}`,
        jobs.listRevocations(1),
      ]),
  ];
  const deadlineMs = clock.monotonicMs() + ANSWER_MS;
  const answers = await Promise.allSettled(
    parts.map(([, asked]) => withDeadline(clock, deadlineMs, "read", asked)),
  );
  const away = answers.flatMap((answer, at) => {
    if (answer.status === "fulfilled") return [];
    if (!(answer.reason instanceof OperatingError)) throw answer.reason;
    return [parts[at]?.[0] ?? ""];
  });
  if (away.length > 0)
    throw new HttpProblem(503, `away: ${away.join(", ")}`, { headers: { "retry-after": "2" } });
  return { status: 200, body: { json: { status: "ok", database: "ok" } } };
}

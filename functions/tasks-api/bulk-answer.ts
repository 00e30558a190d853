/**
 * The answer to many tasks at once repeats them, so it may be too large for Lambda although the request was not. By then the tasks would
 * be made, and a caller who is told 502 makes them again: so it is reckoned before.
 */
import { ANSWER_BYTES_MAX } from "#core/domain/limits.ts";
import type { TaskSettings } from "#core/services/tasks/task-settings.ts";
import { bytesInAnswer } from "../_shared/answer-bytes.ts";
import { HttpProblem, problemBody } from "../_shared/problem.ts";
import type { Checked } from "../_shared/validate.ts";

/** What the answer says of a task beside its settings (id, status, version, instants), or of why it was not made. */
const BESIDE_SETTINGS_BYTES = 1_000;

/** Throws 413 where the answer could be larger than what is answered. */
export function refuseLargeAnswer(checked: readonly Checked<TaskSettings>[]): void {
  const bytes = checked.reduce((sum, one) => sum + answerBytesOf(one), 0);
  if (bytes <= ANSWER_BYTES_MAX) return;
  const detail = `the answer would have ${bytes} bytes, at most ${ANSWER_BYTES_MAX} are answered: send fewer tasks at once`;
  throw new HttpProblem(413, detail);
}

/** Of one item, at most. */
export function answerBytesOf(one: Checked<TaskSettings>): number {
  return one.kind === "invalid"
    ? bytesInAnswer(JSON.stringify(presentProblem(one.problem)))
    : bytesInAnswer(JSON.stringify(one.value)) + BESIDE_SETTINGS_BYTES;
}

export function presentProblem(problem: HttpProblem): unknown {
  return { status: problem.status, problem: JSON.parse(problemBody(problem)) };
}

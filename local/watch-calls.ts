import { z } from "zod";

const answerSchema = z.object({
  next: z.int(),
  calls: z.array(
    z.object({
      at: z.string(),
      path: z.string(),
      attempt: z.int().nullable(),
      lagMs: z.number().nullable(),
    }),
  ),
});
type Seen = z.infer<typeof answerSchema>["calls"][number];

const ANSWER_MS = 15_000;
const RETRY_MS = 500;

/** Calls `onCall` for every call that arrives at the echo endpoint, until it returns false or `signal` is aborted. */
export async function watchCalls(
  echoUrl: string,
  signal: AbortSignal,
  onCall: (call: Seen) => boolean,
): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    try {
      const response = await fetch(`${echoUrl}/calls?after=${after}`, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      const answer = answerSchema.parse(await response.json());
      after = answer.next;
      for (const call of answer.calls) if (!onCall(call)) return;
    } catch {
      // The echo is not up yet, or is being started again: the supervisor says so.
      await new Promise((wake) => setTimeout(wake, RETRY_MS));
    }
  }
}

/** One line for the terminal, such as `… sample called` for the path `/sample`. A call that was due before `startedAtMs` waited for the stack to be up again. */
export function describeCall(call: Seen, startedAtMs: number): string {
  const attempt = call.attempt !== null && call.attempt > 1 ? `, attempt ${call.attempt}` : "";
  const early = Date.parse(call.at) - (call.lagMs ?? 0) < startedAtMs;
  const why = early ? " (due before this start)" : "";
  return `${call.at}  ${call.path.slice(1)} called${attempt}, ${call.lagMs ?? "?"} ms after its time${why}`;
}

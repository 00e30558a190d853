import { z } from "zod";
import { LOCAL_KEY } from "./settings.ts";

const NAME = "sample";
const EVERY_SECONDS = 5;
const ANSWER_MS = 10_000;

const taskSchema = z.object({ status: z.string() });
const problemSchema = z.object({ detail: z.string() });

/** `line`: what a human is to know of it; `isCalled`: whether calls are going to arrive. */
type Sample = { line: string; isCalled: boolean };

/**
 * Makes the sample task, which calls `url` every 5 s, or sets the one of an earlier start back to that: by its name, however many
 * others there are. One that somebody has paused stays so. Never throws: where the tenant, its key or a quota does not let it be made,
 * the system is of use without it.
 */
export async function makeSample(apiUrl: string, url: string): Promise<Sample> {
  const path = `/v1/tasks/by-name/${NAME}`;
  const put = await ask(apiUrl, path, {
    description: "Made by npm start, which sets it back: calls the local echo endpoint.",
    schedule: { type: "every", seconds: EVERY_SECONDS },
    request: { url },
    // What passed while the stack was down is not news: nothing to make up for.
    catchUp: "none",
  });
  if (put.kind === "refused") {
    const line = `no sample task: PUT ${path} ${put.why}; all else runs ('npm run admin -- --help' lists what changes tenant demo, its quotas and keys; the next start tries again)`;
    return { line, isCalled: false };
  }
  return put.status === "active"
    ? {
        line: `the task '${NAME}' calls a local endpoint every ${EVERY_SECONDS} s:`,
        isCalled: true,
      }
    : { line: `the task '${NAME}' is ${put.status}: it makes no calls`, isCalled: false };
}

type Answer = { kind: "task"; status: string } | { kind: "refused"; why: string };

async function ask(apiUrl: string, path: string, task: object): Promise<Answer> {
  try {
    const response = await fetch(`${apiUrl}${path}`, {
      method: "PUT",
      headers: { "x-api-key": LOCAL_KEY, "content-type": "application/json" },
      body: JSON.stringify(task),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const body: unknown = await response.json();
    if (response.ok) return { kind: "task", status: taskSchema.parse(body).status };
    const { detail } = problemSchema.parse(body);
    return { kind: "refused", why: `answered ${response.status}, ${detail}` };
  } catch {
    return { kind: "refused", why: "got no answer of use" };
  }
}

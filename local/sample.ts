import { z } from "zod";
import { LOCAL_KEY } from "./settings.ts";
import { SetupError } from "./setup-error.ts";

const NAME = "sample";
const EVERY_SECONDS = 5;
const ANSWER_MS = 10_000;
const PAGES_MAX = 50;

const taskSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  request: z.object({ url: z.string() }),
});
type Task = z.infer<typeof taskSchema>;
const pageSchema = z.object({ items: z.array(taskSchema), nextCursor: z.string().nullable() });

/**
 * Makes the sample task, which calls `url` every 5 s; the one of an earlier start is used again and pointed at `url`.
 * Returns its status: one that somebody has paused stays so. Throws SetupError when the API does not answer as it should.
 */
export async function makeSample(apiUrl: string, url: string): Promise<string> {
  const made = await ask(apiUrl, "POST", "/v1/tasks", {
    name: NAME,
    description: "Made by npm start: calls the local echo endpoint.",
    schedule: { type: "every", seconds: EVERY_SECONDS },
    request: { url },
    // What passed while the stack was down is not news: nothing to make up for.
    catchUp: "none",
  });
  if (made.status === 201) return taskSchema.parse(made.body).status;
  if (made.status !== 409) throw unexpected("POST /v1/tasks", made);
  const task = await findSample(apiUrl);
  if (task.request.url !== url) {
    const patched = await ask(apiUrl, "PATCH", `/v1/tasks/${task.id}`, { request: { url } });
    if (patched.status !== 200) throw unexpected("PATCH /v1/tasks/{taskId}", patched);
  }
  return task.status;
}

async function findSample(apiUrl: string): Promise<Task> {
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const listed: Answer = await ask(apiUrl, "GET", `/v1/tasks?limit=200${query}`);
    if (listed.status !== 200) throw unexpected("GET /v1/tasks", listed);
    const { items, nextCursor } = pageSchema.parse(listed.body);
    const found = items.find((task) => task.name === NAME);
    if (found) return found;
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  throw new SetupError(`the task '${NAME}' exists, but is not among the first ${PAGES_MAX} pages`);
}

type Answer = { status: number; body: unknown };

async function ask(apiUrl: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const request = {
    method,
    headers: { "x-api-key": LOCAL_KEY, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  };
  try {
    const response = await fetch(`${apiUrl}${path}`, request);
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  } catch (error) {
    throw new SetupError(`the sample task could not be made: ${method} ${path} got no answer`, {
      cause: error,
    });
  }
}

function unexpected(what: string, answer: Answer): SetupError {
  const detail = JSON.stringify(answer.body).slice(0, 300);
  return new SetupError(
    `the sample task could not be made: ${what} answered ${answer.status} ${detail}`,
  );
}

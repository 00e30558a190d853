/** The route table: the one source for API Gateway, the local gateway and the handlers. Pure data, no imports: infra reads it. */

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** API Gateway's form: `{taskId}` stands for one segment. */
  readonly path: string;
  /** Name of the operation, as OpenAPI will have it. */
  readonly operation: string;
  /** The folder in functions/ whose handler answers. */
  readonly handler: "tasks-api" | "jobs-api";
  /** What the caller's key must allow; null needs no key. */
  readonly scope: "read" | "write" | "admin" | null;
  /** When its answer is there at the latest; 10 s where none is given. API Gateway gives up after 29 s. */
  readonly deadlineMs?: number;
  /** It makes or moves something and knows no repeat: an `Idempotency-Key` is refused with these words, which say what to do. */
  readonly insteadOfKey?: string;
}

export const ROUTES = [
  {
    method: "GET",
    path: "/v1/health",
    operation: "getHealth",
    handler: "tasks-api",
    scope: null,
  },
  {
    method: "GET",
    path: "/v1/openapi.json",
    operation: "getOpenApi",
    handler: "tasks-api",
    scope: null,
  },
  {
    method: "GET",
    path: "/v1/docs",
    operation: "getDocs",
    handler: "tasks-api",
    scope: null,
  },
  {
    method: "POST",
    path: "/v1/tasks",
    operation: "createTask",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "POST",
    path: "/v1/tasks/bulk",
    operation: "createTasks",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "PUT",
    path: "/v1/tasks/by-name/{name}",
    operation: "putTask",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "GET",
    path: "/v1/tasks/by-name/{name}",
    operation: "getTaskByName",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "GET",
    path: "/v1/tasks",
    operation: "listTasks",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "GET",
    path: "/v1/tasks/{taskId}",
    operation: "getTask",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "PATCH",
    path: "/v1/tasks/{taskId}",
    operation: "editTask",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "DELETE",
    path: "/v1/tasks/{taskId}",
    operation: "deleteTask",
    handler: "tasks-api",
    scope: "write",
    deadlineMs: 28_000,
  },
  {
    method: "POST",
    path: "/v1/tasks/{taskId}/pause",
    operation: "pauseTask",
    handler: "tasks-api",
    scope: "write",
    deadlineMs: 28_000,
  },
  {
    method: "POST",
    path: "/v1/tasks/{taskId}/resume",
    operation: "resumeTask",
    handler: "tasks-api",
    scope: "write",
    deadlineMs: 28_000,
  },
  {
    method: "POST",
    path: "/v1/tasks/{taskId}/run",
    operation: "runTask",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "POST",
    path: "/v1/tasks/{taskId}/test",
    operation: "testTask",
    handler: "tasks-api",
    scope: "write",
    deadlineMs: 28_000,
    insteadOfKey: "each request makes a call; /run takes one",
  },
  {
    method: "GET",
    path: "/v1/tasks/{taskId}/upcoming",
    operation: "listUpcoming",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "POST",
    path: "/v1/schedules/preview",
    operation: "previewSchedule",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "GET",
    path: "/v1/signing-secret",
    operation: "listSigningSecrets",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "POST",
    path: "/v1/signing-secret/rotate",
    operation: "rotateSigningSecret",
    handler: "tasks-api",
    scope: "admin",
  },
  {
    method: "GET",
    path: "/v1/limits",
    operation: "listLimits",
    handler: "tasks-api",
    scope: "read",
  },
  {
    method: "PUT",
    path: "/v1/limits",
    operation: "putLimit",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "DELETE",
    path: "/v1/limits",
    operation: "deleteLimit",
    handler: "tasks-api",
    scope: "write",
  },
  {
    method: "GET",
    path: "/v1/tasks/{taskId}/jobs",
    operation: "listTaskJobs",
    handler: "jobs-api",
    scope: "read",
  },
  {
    method: "GET",
    path: "/v1/jobs/{jobId}",
    operation: "getJob",
    handler: "jobs-api",
    scope: "read",
  },
  {
    method: "POST",
    path: "/v1/jobs/{jobId}/retry",
    operation: "retryJob",
    handler: "jobs-api",
    scope: "write",
  },
  {
    method: "POST",
    path: "/v1/jobs/{jobId}/cancel",
    operation: "cancelJob",
    handler: "jobs-api",
    scope: "write",
  },
  {
    method: "GET",
    path: "/v1/dead-letters",
    operation: "listDeadLetters",
    handler: "jobs-api",
    scope: "read",
  },
  {
    method: "POST",
    path: "/v1/dead-letters/retry",
    operation: "retryDeadLetters",
    handler: "jobs-api",
    scope: "write",
    insteadOfKey:
      "with `to`, such as the time of the first request, a repeat moves no job a second time",
  },
] as const satisfies readonly Route[];

/** The operations that a handler has to have: a missing one is a compile error. */
export type OperationOf<H extends Route["handler"]> = Extract<
  (typeof ROUTES)[number],
  { handler: H }
>["operation"];

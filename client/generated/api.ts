// Written by `npm run client` from the OpenAPI document: change that, not this.
import type { Answer } from "../answer.ts";

export type TaskInput = {
  /** Unique among the tenant's tasks; not `.` or `..`. A task without one is called by its id. */
  readonly name?: string | null;
  readonly description?: string | null;
  readonly tags?: readonly (string)[];
  readonly schedule: {
    readonly type: "at";
    /** An instant with its offset, or a local time beside `timezone`. */
    readonly at: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "cron";
    /** 5 fields, or 6 with seconds first; names, ranges, steps, lists, `L`, `#`, `?`, and `@daily` and the like. */
    readonly expression: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "every";
    /** A whole number. */
    readonly seconds: number;
    /** An instant from which the runs are counted, both ways; the epoch if none is given. */
    readonly anchor?: string;
  };
  /** What is more urgent goes first; the least urgent still goes. 99 % of first calls are promised within 1 s (critical), 20 s (high), 3 min (normal), 20 min (low). */
  readonly priority?: "critical" | "high" | "normal" | "low";
  readonly request: {
    readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** http or https. Checked when it is called too: only public addresses are. */
    readonly url: string;
    /** Sent as they are written. Not those of the connection, nor the ones by which an endpoint knows our calls. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Headers whose values nobody can read again. Sent beside `headers`, and only to the origin of `url` that they were given for. */
    readonly secretHeaders?: Readonly<Record<string, string | {
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint: string;
    }>>;
    /** How the call says who it is, in `Authorization`, to the origin of `url` that it was given for only. The secret is never answered, only its fingerprint. */
    readonly auth?: {
      readonly type: "bearer";
      readonly token?: string;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      readonly password?: string;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      /** http or https. Checked when it is called too: only public addresses are. */
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret?: string;
      readonly scope?: string | null;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | null;
    /** Text, kept byte for byte as UTF-8, up to 256 KB. */
    readonly body?: string | null;
    /** Binary, up to 256 KB; instead of `body`. */
    readonly bodyBase64?: string | null;
  };
  /** For a whole call, from connecting to the last byte of the answer. */
  readonly timeoutSeconds?: number;
  /** What happens when a call fails. */
  readonly retry?: {
    /** Calls altogether, the first one included. */
    readonly maxAttempts?: number;
    /** Between the first call and the second. */
    readonly initialDelaySeconds?: number;
    /** By which each further delay is longer. */
    readonly factor?: number;
    /** No delay is longer; a `Retry-After` of the endpoint is honoured up to it. */
    readonly maxDelaySeconds?: number;
    /** Share of a delay by which it varies at random, both ways. */
    readonly jitter?: number;
    /** After which failures another call is made: `timeout`, `network` (no answer for any other reason), `3xx`, `4xx`, `5xx`, single statuses. Any other ends the job. null: after all of them. 410, an answer with `Webhook-Stop: true`, and secrets that are for another origin by now, always end it. */
    readonly retryOn?: readonly (string)[] | null;
  };
  /** Whether the first bytes of each answer are kept with its attempt. */
  readonly captureResponse?: boolean;
  /** Which of the runs that are missed by more than a minute are made up for. */
  readonly catchUp?: "all" | "latest" | "none";
  /** No run before it, apart from those that an edit finds planned for the next 30 s. */
  readonly startAt?: string | null;
  /** No run at it or after, apart from those that an edit finds planned for the next 30 s. */
  readonly endAt?: string | null;
};

export type TaskPatch = {
  /** Unique among the tenant's tasks; not `.` or `..`. A task without one is called by its id. */
  readonly name?: string | null;
  readonly description?: string | null;
  readonly tags?: readonly (string)[] | null;
  readonly schedule?: {
    readonly type: "at";
    /** An instant with its offset, or a local time beside `timezone`. */
    readonly at: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "cron";
    /** 5 fields, or 6 with seconds first; names, ranges, steps, lists, `L`, `#`, `?`, and `@daily` and the like. */
    readonly expression: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "every";
    /** A whole number. */
    readonly seconds: number;
    /** An instant from which the runs are counted, both ways; the epoch if none is given. */
    readonly anchor?: string;
  };
  /** What is more urgent goes first; the least urgent still goes. 99 % of first calls are promised within 1 s (critical), 20 s (high), 3 min (normal), 20 min (low). */
  readonly priority?: "critical" | "high" | "normal" | "low" | null;
  readonly request?: {
    readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | null;
    /** http or https. Checked when it is called too: only public addresses are. */
    readonly url?: string;
    readonly headers?: Readonly<Record<string, string | null>> | null;
    readonly secretHeaders?: Readonly<Record<string, string | {
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint: string;
    } | null>> | null;
    /** How the call says who it is, in `Authorization`, to the origin of `url` that it was given for only. The secret is never answered, only its fingerprint. */
    readonly auth?: {
      readonly type: "bearer";
      readonly token?: string;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      readonly password?: string;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      /** http or https. Checked when it is called too: only public addresses are. */
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret?: string;
      readonly scope?: string | null;
      /** As it was answered: the secret stays what it is. */
      readonly fingerprint?: string;
    } | null;
    /** Text, kept byte for byte as UTF-8, up to 256 KB. */
    readonly body?: string | null;
    /** Binary, up to 256 KB; instead of `body`. */
    readonly bodyBase64?: string | null;
  };
  /** For a whole call, from connecting to the last byte of the answer. */
  readonly timeoutSeconds?: number | null;
  readonly retry?: {
    /** Calls altogether, the first one included. */
    readonly maxAttempts?: number | null;
    /** Between the first call and the second. */
    readonly initialDelaySeconds?: number | null;
    /** By which each further delay is longer. */
    readonly factor?: number | null;
    /** No delay is longer; a `Retry-After` of the endpoint is honoured up to it. */
    readonly maxDelaySeconds?: number | null;
    /** Share of a delay by which it varies at random, both ways. */
    readonly jitter?: number | null;
    /** After which failures another call is made: `timeout`, `network` (no answer for any other reason), `3xx`, `4xx`, `5xx`, single statuses. Any other ends the job. null: after all of them. 410, an answer with `Webhook-Stop: true`, and secrets that are for another origin by now, always end it. */
    readonly retryOn?: readonly (string)[] | null;
  } | null;
  /** Whether the first bytes of each answer are kept with its attempt. */
  readonly captureResponse?: boolean | null;
  /** Which of the runs that are missed by more than a minute are made up for. */
  readonly catchUp?: "all" | "latest" | "none" | null;
  /** No run before it, apart from those that an edit finds planned for the next 30 s. */
  readonly startAt?: string | null;
  /** No run at it or after, apart from those that an edit finds planned for the next 30 s. */
  readonly endAt?: string | null;
};

export type RunInput = {
  readonly request?: {
    /** Sent as they are written. Not those of the connection, nor the ones by which an endpoint knows our calls. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Text, kept byte for byte as UTF-8, up to 256 KB. */
    readonly body?: string;
    /** Binary, up to 256 KB; instead of `body`. */
    readonly bodyBase64?: string;
  };
};

export type BulkInput = {
  /** Tasks, each as create takes it and checked by itself; 4 MB altogether. */
  readonly items: readonly (TaskInput)[];
};

export type PreviewInput = {
  readonly schedule: {
    readonly type: "at";
    /** An instant with its offset, or a local time beside `timezone`. */
    readonly at: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "cron";
    /** 5 fields, or 6 with seconds first; names, ranges, steps, lists, `L`, `#`, `?`, and `@daily` and the like. */
    readonly expression: string;
    /** Any IANA name; UTC if none is given. */
    readonly timezone?: string;
  } | {
    readonly type: "every";
    /** A whole number. */
    readonly seconds: number;
    /** An instant from which the runs are counted, both ways; the epoch if none is given. */
    readonly anchor?: string;
  };
  readonly count?: number;
  readonly after?: string | null;
};

export type RetryDeadLettersInput = {
  /** Of this task only. */
  readonly taskId?: string;
  /** On `diedAt`, inclusive. */
  readonly from?: string;
  /** On `diedAt`, exclusive. */
  readonly to?: string;
  /** How many of them start each second. */
  readonly perSecond?: number;
  /** At most so many, those that died last. */
  readonly limit?: number;
};

export type LimitInput = {
  /** Scheme, host and port of the URLs that it holds for; null: all calls of the tenant. */
  readonly endpoint: string | null;
  /** Calls under way at once; null: any number. */
  readonly concurrency?: number | null;
  /** Calls that start in a second, evenly spaced; null: any number. */
  readonly perSecond?: number | null;
};

export type Task = {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly tags: readonly (string)[];
  /** A task is completed when its schedule has no run left to be planned: the last one may still be ahead, by 30 s or, at peaks, 5 min. */
  readonly status: "active" | "paused" | "completed";
  /** In canonical form: with the zone's own name, and every default filled in. */
  readonly schedule: {
    readonly type: "at";
    readonly at: string;
    readonly timezone?: string;
  } | {
    readonly type: "cron";
    readonly expression: string;
    readonly timezone: string;
  } | {
    readonly type: "every";
    readonly seconds: number;
    readonly anchor: string;
  };
  readonly priority: "critical" | "high" | "normal" | "low";
  readonly timeoutSeconds: number;
  readonly retry: {
    readonly maxAttempts: number;
    readonly initialDelaySeconds: number;
    readonly factor: number;
    readonly maxDelaySeconds: number;
    readonly jitter: number;
    /** null: every failure is retried but 410 and an answer with `Webhook-Stop: true`. */
    readonly retryOn: readonly (string)[] | null;
  };
  readonly captureResponse: boolean;
  readonly catchUp: "all" | "latest" | "none";
  readonly startAt: string | null;
  readonly endAt: string | null;
  /** The next run that is not planned yet; null when there is none, or while paused. */
  readonly nextRunAt: string | null;
  /** Why its schedule cannot go on. */
  readonly error: string | null;
  /** Grows with every change by a caller, and the ETag with it. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly request: {
    readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly secretHeaders?: Readonly<Record<string, {
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    }>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly auth?: {
      readonly type: "bearer";
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | null;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    };
    readonly body: string | null;
    /** Only where the body is binary; `body` is then null. */
    readonly bodyBase64?: string;
  };
};

export type ListedTask = {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly tags: readonly (string)[];
  /** A task is completed when its schedule has no run left to be planned: the last one may still be ahead, by 30 s or, at peaks, 5 min. */
  readonly status: "active" | "paused" | "completed";
  /** In canonical form: with the zone's own name, and every default filled in. */
  readonly schedule: {
    readonly type: "at";
    readonly at: string;
    readonly timezone?: string;
  } | {
    readonly type: "cron";
    readonly expression: string;
    readonly timezone: string;
  } | {
    readonly type: "every";
    readonly seconds: number;
    readonly anchor: string;
  };
  readonly priority: "critical" | "high" | "normal" | "low";
  readonly timeoutSeconds: number;
  readonly retry: {
    readonly maxAttempts: number;
    readonly initialDelaySeconds: number;
    readonly factor: number;
    readonly maxDelaySeconds: number;
    readonly jitter: number;
    /** null: every failure is retried but 410 and an answer with `Webhook-Stop: true`. */
    readonly retryOn: readonly (string)[] | null;
  };
  readonly captureResponse: boolean;
  readonly catchUp: "all" | "latest" | "none";
  readonly startAt: string | null;
  readonly endAt: string | null;
  /** The next run that is not planned yet; null when there is none, or while paused. */
  readonly nextRunAt: string | null;
  /** Why its schedule cannot go on. */
  readonly error: string | null;
  /** Grows with every change by a caller, and the ETag with it. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly request: {
    readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly secretHeaders?: Readonly<Record<string, {
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    }>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly auth?: {
      readonly type: "bearer";
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | null;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    };
    readonly bodyBytes: number;
  };
};

export type TaskPage = {
  readonly items: readonly (ListedTask)[];
  /** What to pass as `cursor` for the page after; null on the last one. */
  readonly nextCursor: string | null;
};

export type BulkAnswer = {
  /** In the order of the request; each has `task` or `problem`. */
  readonly items: readonly ({
    /** What create would have answered: 201, 409, 413, 422 or 429. */
    readonly status: number;
    readonly task?: Task;
    readonly problem?: Problem;
  })[];
};

export type Occurrences = {
  readonly items: readonly ({
    readonly at: string;
    /** The same instant on the clocks of the schedule's zone, with their offset. */
    readonly local: string;
  })[];
  /** What one should know about the schedule. */
  readonly warnings: readonly (string)[];
};

export type Job = {
  readonly id: string;
  readonly taskId: string;
  readonly trigger: "schedule" | "catch_up" | "manual" | "test";
  readonly status: "pending" | "waiting" | "running" | "succeeded" | "dead" | "cancelled";
  readonly priority: "critical" | "high" | "normal" | "low";
  readonly scheduledAt: string;
  /** When the next call may be sent, or the last one might. */
  readonly runAt: string;
  /** Calls so far, the one under way included; a due job that is `running` may still wait for its turn, for at most half a minute. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The newest 30, in their order. */
  readonly attempts: readonly ({
    /** As the endpoint got it in `X-Attempt`. */
    readonly attempt: number;
    /** When an executor took the job. */
    readonly claimedAt: string | null;
    /** When it was sent. */
    readonly startedAt: string;
    /** Sent minus due: of the first attempt of `trigger: schedule` `scheduledAt`, of any other its `runAt`. */
    readonly lagMs: number;
    /** From `startedAt` to the end. */
    readonly durationMs: number;
    /** null when nothing was dialled or sent. */
    readonly timings: {
      readonly dnsMs: number | null;
      readonly connectMs: number | null;
      readonly tlsMs: number | null;
      /** From the request to the answer's status and headers. */
      readonly firstByteMs: number | null;
      readonly totalMs: number;
    } | null;
    readonly statusCode: number | null;
    /** null when an answer came. */
    readonly error: CallError | null;
    /** The first bytes of the answer: 128 of a success, 1,024 of a failure. */
    readonly responseBody: string | null;
  })[];
  readonly finishedAt: string | null;
  /** Why it ended as it did, where that is not a success, or why it is to end; of one that is `waiting`, for which limit: `waiting: limit of https://api.example.com`. */
  readonly reason: string | null;
  /** The limit in whose line it is or last was, in every status: an endpoint, which the limit of all calls may have slowed too, or `all calls`. null: in none, or it was taken away meanwhile. */
  readonly limit: string | null;
  /** The archived job of which it is another try. */
  readonly retryOf: string | null;
  /** Several runs that did not happen, which this job stands for. */
  readonly missed: {
    readonly count: number;
    readonly from: string;
    readonly to: string;
    /** Counting stopped: it may be more. */
    readonly atLeast?: true;
  } | null;
  /** What is sent; null once the task's request of that time is gone. */
  readonly request: {
    readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly secretHeaders?: Readonly<Record<string, {
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    }>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly auth?: {
      readonly type: "bearer";
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | null;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    };
    readonly body: string | null;
    /** Only where the body is binary; `body` is then null. */
    readonly bodyBase64?: string;
    readonly bodyBytes?: number;
    /** Of an archived job whose body is longer than 256 bytes, which history does not keep. */
    readonly bodySha256?: string;
  } | null;
};

export type ListedJob = {
  readonly id: string;
  readonly taskId: string;
  readonly trigger: "schedule" | "catch_up" | "manual" | "test";
  readonly status: "pending" | "waiting" | "running" | "succeeded" | "dead" | "cancelled";
  readonly priority: "critical" | "high" | "normal" | "low";
  readonly scheduledAt: string;
  /** When the next call may be sent, or the last one might. */
  readonly runAt: string;
  /** Calls so far, the one under way included; a due job that is `running` may still wait for its turn, for at most half a minute. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The newest 30, in their order. */
  readonly attempts: readonly ({
    /** As the endpoint got it in `X-Attempt`. */
    readonly attempt: number;
    /** When an executor took the job. */
    readonly claimedAt: string | null;
    /** When it was sent. */
    readonly startedAt: string;
    /** Sent minus due: of the first attempt of `trigger: schedule` `scheduledAt`, of any other its `runAt`. */
    readonly lagMs: number;
    /** From `startedAt` to the end. */
    readonly durationMs: number;
    /** null when nothing was dialled or sent. */
    readonly timings: {
      readonly dnsMs: number | null;
      readonly connectMs: number | null;
      readonly tlsMs: number | null;
      /** From the request to the answer's status and headers. */
      readonly firstByteMs: number | null;
      readonly totalMs: number;
    } | null;
    readonly statusCode: number | null;
    /** null when an answer came. */
    readonly error: CallError | null;
    /** The first bytes of the answer: 128 of a success, 1,024 of a failure. */
    readonly responseBody: string | null;
  })[];
  readonly finishedAt: string | null;
  /** Why it ended as it did, where that is not a success, or why it is to end; of one that is `waiting`, for which limit: `waiting: limit of https://api.example.com`. */
  readonly reason: string | null;
  /** The limit in whose line it is or last was, in every status: an endpoint, which the limit of all calls may have slowed too, or `all calls`. null: in none, or it was taken away meanwhile. */
  readonly limit: string | null;
  /** The archived job of which it is another try. */
  readonly retryOf: string | null;
  /** Several runs that did not happen, which this job stands for. */
  readonly missed: {
    readonly count: number;
    readonly from: string;
    readonly to: string;
    /** Counting stopped: it may be more. */
    readonly atLeast?: true;
  } | null;
  readonly request: {
    readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly secretHeaders?: Readonly<Record<string, {
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    }>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly auth?: {
      readonly type: "bearer";
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | null;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    };
    readonly bodyBytes: number;
  } | null;
};

export type JobPage = {
  readonly items: readonly (ListedJob)[];
  /** What to pass as `cursor` for the page after; null on the last one. */
  readonly nextCursor: string | null;
  /** Only where history could not be asked: archived jobs are missing. */
  readonly historyAvailable?: false;
};

export type DeadLetter = {
  readonly id: string;
  readonly taskId: string;
  readonly trigger: "schedule" | "catch_up" | "manual" | "test";
  readonly status: "pending" | "waiting" | "running" | "succeeded" | "dead" | "cancelled";
  readonly priority: "critical" | "high" | "normal" | "low";
  readonly scheduledAt: string;
  /** When the next call may be sent, or the last one might. */
  readonly runAt: string;
  /** Calls so far, the one under way included; a due job that is `running` may still wait for its turn, for at most half a minute. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The newest 30, in their order. */
  readonly attempts: readonly ({
    /** As the endpoint got it in `X-Attempt`. */
    readonly attempt: number;
    /** When an executor took the job. */
    readonly claimedAt: string | null;
    /** When it was sent. */
    readonly startedAt: string;
    /** Sent minus due: of the first attempt of `trigger: schedule` `scheduledAt`, of any other its `runAt`. */
    readonly lagMs: number;
    /** From `startedAt` to the end. */
    readonly durationMs: number;
    /** null when nothing was dialled or sent. */
    readonly timings: {
      readonly dnsMs: number | null;
      readonly connectMs: number | null;
      readonly tlsMs: number | null;
      /** From the request to the answer's status and headers. */
      readonly firstByteMs: number | null;
      readonly totalMs: number;
    } | null;
    readonly statusCode: number | null;
    /** null when an answer came. */
    readonly error: CallError | null;
    /** The first bytes of the answer: 128 of a success, 1,024 of a failure. */
    readonly responseBody: string | null;
  })[];
  readonly finishedAt: string | null;
  /** Why it ended as it did, where that is not a success, or why it is to end; of one that is `waiting`, for which limit: `waiting: limit of https://api.example.com`. */
  readonly reason: string | null;
  /** The limit in whose line it is or last was, in every status: an endpoint, which the limit of all calls may have slowed too, or `all calls`. null: in none, or it was taken away meanwhile. */
  readonly limit: string | null;
  /** The archived job of which it is another try. */
  readonly retryOf: string | null;
  /** Several runs that did not happen, which this job stands for. */
  readonly missed: {
    readonly count: number;
    readonly from: string;
    readonly to: string;
    /** Counting stopped: it may be more. */
    readonly atLeast?: true;
  } | null;
  readonly request: {
    readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly secretHeaders?: Readonly<Record<string, {
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    }>>;
    /** Absent where there is none, and in jobs that are archived. */
    readonly auth?: {
      readonly type: "bearer";
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "basic";
      readonly username: string;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    } | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | null;
      /** The same for the same secret of a tenant. Absent in jobs, which send what it is by then. */
      readonly fingerprint?: string;
    };
    readonly bodyBytes: number;
  } | null;
  /** By what the list is sorted; just before or at `finishedAt`. */
  readonly diedAt: string;
};

export type DeadLetterPage = {
  readonly items: readonly (DeadLetter)[];
  /** What to pass as `cursor` for the page after; null on the last one. */
  readonly nextCursor: string | null;
};

export type RetriedDeadLetters = {
  /** Dead letters that the filter matches and whose task is there, up to `limit`. */
  readonly matched: number;
  /** Those that are in line again. */
  readonly moved: number;
  /** Those that are not: not dead any more, their task gone just now, or as many attempts made as a job can. */
  readonly failed: number;
};

export type TestOutcome = {
  readonly status: "succeeded" | "dead" | "cancelled";
  /** Why it ended as it did, where that is not a success, or why it is to end; of one that is `waiting`, for which limit: `waiting: limit of https://api.example.com`. */
  readonly reason: string | null;
  readonly statusCode: number | null;
  /** null when an answer came. */
  readonly error: CallError | null;
  /** null when nothing was sent. */
  readonly durationMs: number | null;
  /** null when nothing was dialled or sent. */
  readonly timings: {
    readonly dnsMs: number | null;
    readonly connectMs: number | null;
    readonly tlsMs: number | null;
    /** From the request to the answer's status and headers. */
    readonly firstByteMs: number | null;
    readonly totalMs: number;
  } | null;
  /** The first 1,024 bytes of the answer; null where the task does not keep answers. */
  readonly responseBody: string | null;
  readonly job: Job;
};

/** Why no answer came, by a stable code. `timeout`: no whole answer within `timeoutSeconds`. `dns`: no address for the host. `destination-not-allowed`: the host's address or the port is not one that is called. `connection-refused`: nothing listens there. `connection-reset`: the connection ended before the whole answer. `tls`: no TLS connection, such as with a certificate that is not the host's. `protocol`: what came is no HTTP/1.1 response. `request-invalid`: the request cannot be sent as it is. `network`: anything else on the way. `interrupted`: an executor of ours stopped, or lost its database; it costs no attempt. `auth-failed`: the token endpoint gave no token; nothing was called. `secret-missing`: the task no longer has a secret that the request names; nothing was called. `secret-other-origin`: its task calls another origin by now, and has its secrets for that; nothing was called, and the job is dead. `secret-unreadable`: a secret does not open; nothing was called. `secrets-unavailable`: no secret can be opened now, which only a test is told; nothing was called. `version-missing`: the request is gone, and the job dead; nothing was called. */
export type CallError = string;

export type Limit = {
  /** Lower case, without the scheme's own port; null: all calls of the tenant. */
  readonly endpoint: string | null;
  /** As the tenant has set it. */
  readonly concurrency: number | null;
  /** As the tenant has set it. */
  readonly perSecond: number | null;
  /** The operator's cap; null: none. What holds is the smaller. */
  readonly maxConcurrency: number | null;
  /** The operator's cap, likewise. */
  readonly maxPerSecond: number | null;
  /** Jobs that are due and wait in its line, counted up to 1,000. */
  readonly waiting: number;
  readonly updatedAt: string;
};

export type LimitPage = {
  readonly items: readonly (Limit)[];
  /** What to pass as `cursor` for the page after; null on the last one. */
  readonly nextCursor: string | null;
};

export type SigningSecrets = {
  /** Those that calls are signed with, newest first: none before the first call, three at most. */
  readonly items: readonly ({
    readonly id: string;
    readonly fingerprint: string;
    readonly createdAt: string;
    /** Until when calls carry a signature of it too; null for the newest. */
    readonly expiresAt: string | null;
  })[];
};

export type RotatedSecret = {
  /** The new one. It is shown only now. */
  readonly secret: string;
  /** Those that calls are signed with, newest first: none before the first call, three at most. */
  readonly items: readonly ({
    readonly id: string;
    readonly fingerprint: string;
    readonly createdAt: string;
    /** Until when calls carry a signature of it too; null for the newest. */
    readonly expiresAt: string | null;
  })[];
};

/** RFC 9457 problem details. */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** In words, for this request. */
  readonly detail: string;
  /** Field by field what is wrong, with 422 and 413. */
  readonly errors?: readonly ({
    /** Dotted, as in `schedule.expression`; empty for the whole. */
    readonly field: string;
    readonly message: string;
  })[];
  /** With 409, when the name is taken: the task that has it. */
  readonly taskId?: string;
  /** With 503, when it is history that is away. */
  readonly historyAvailable?: false;
};

export interface CreateTaskArgs {
  /** 1 to 255 visible ASCII characters, new for each change. For 24 h the same key with the same body gets the same answer, and changes nothing more. */
  readonly idempotencyKey?: string;
  readonly body: TaskInput;
}

export interface ListTasksArgs {
  readonly status?: "active" | "paused" | "completed";
  readonly priority?: "critical" | "high" | "normal" | "low";
  readonly tag?: string;
  /** Items of one page; a page ends at 4 MB too. */
  readonly limit?: number;
  /** `nextCursor` of the page before; it belongs to its list and filter. */
  readonly cursor?: string;
}

export interface CreateTasksArgs {
  /** 1 to 255 visible ASCII characters, new for each change. For 24 h the same key with the same body gets the same answer, and changes nothing more. */
  readonly idempotencyKey?: string;
  readonly body: BulkInput;
}

export interface PutTaskArgs {
  /** The task's name, percent-encoded. */
  readonly name: string;
  /** The ETag of the task to change, with its quotes, or several, separated by commas; a task with another one is left alone, with 412. `version` in quotes does too, of whichever task there is. A weak one (`W/…`) names none. `*`: whichever there is; PUT makes none then. */
  readonly ifMatch?: string;
  /** `*`: create only; a task that exists is left alone, with 412. Not with `If-Match`. */
  readonly ifNoneMatch?: string;
  readonly body: TaskInput;
}

export interface GetTaskByNameArgs {
  /** The task's name, percent-encoded. */
  readonly name: string;
}

export interface GetTaskArgs {
  /** The task's id. */
  readonly taskId: string;
}

export interface EditTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  /** The ETag of the task to change, with its quotes, or several, separated by commas; a task with another one is left alone, with 412. `version` in quotes does too, of whichever task there is. A weak one (`W/…`) names none. `*`: whichever there is; PUT makes none then. */
  readonly ifMatch?: string;
  readonly body: TaskPatch;
}

export interface DeleteTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  /** The ETag of the task to change, with its quotes, or several, separated by commas; a task with another one is left alone, with 412. `version` in quotes does too, of whichever task there is. A weak one (`W/…`) names none. `*`: whichever there is; PUT makes none then. */
  readonly ifMatch?: string;
}

export interface PauseTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  readonly body?: Readonly<Record<string, never>>;
}

export interface ResumeTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  readonly body?: Readonly<Record<string, never>>;
}

export interface RunTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  /** 1 to 255 visible ASCII characters, new for each change. For 24 h the same key with the same body gets the same answer, and changes nothing more. */
  readonly idempotencyKey?: string;
  readonly body?: RunInput;
}

export interface TestTaskArgs {
  /** The task's id. */
  readonly taskId: string;
  readonly body?: Readonly<Record<string, never>>;
}

export interface ListUpcomingArgs {
  /** The task's id. */
  readonly taskId: string;
  readonly count?: number;
}

export interface PreviewScheduleArgs {
  readonly body: PreviewInput;
}

export interface RotateSigningSecretArgs {
  readonly body?: Readonly<Record<string, never>>;
}

export interface ListLimitsArgs {
  /** Items of one page; a page ends at 4 MB too. */
  readonly limit?: number;
  /** `nextCursor` of the page before; it belongs to its list and filter. */
  readonly cursor?: string;
}

export interface PutLimitArgs {
  readonly body: LimitInput;
}

export interface DeleteLimitArgs {
  /** As it was set; left out: the limit of all calls. */
  readonly endpoint?: string;
}

export interface ListTaskJobsArgs {
  /** The task's id. */
  readonly taskId: string;
  readonly status?: readonly ("pending" | "waiting" | "running" | "succeeded" | "dead" | "cancelled")[];
  /** On `scheduledAt`, inclusive. */
  readonly from?: string;
  /** On `scheduledAt`, exclusive. */
  readonly to?: string;
  /** Items of one page; a page ends at 4 MB too. */
  readonly limit?: number;
  /** `nextCursor` of the page before; it belongs to its list and filter. */
  readonly cursor?: string;
}

export interface GetJobArgs {
  /** The job's id. */
  readonly jobId: string;
}

export interface RetryJobArgs {
  /** The job's id. */
  readonly jobId: string;
  /** 1 to 255 visible ASCII characters, new for each change. For 24 h the same key with the same body gets the same answer, and changes nothing more. */
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, never>>;
}

export interface CancelJobArgs {
  /** The job's id. */
  readonly jobId: string;
  readonly body?: Readonly<Record<string, never>>;
}

export interface ListDeadLettersArgs {
  /** Of this task only. */
  readonly taskId?: string;
  /** On `diedAt`, inclusive. */
  readonly from?: string;
  /** On `diedAt`, exclusive. */
  readonly to?: string;
  /** Items of one page; a page ends at 4 MB too. */
  readonly limit?: number;
  /** `nextCursor` of the page before; it belongs to its list and filter. */
  readonly cursor?: string;
}

export interface RetryDeadLettersArgs {
  readonly body?: RetryDeadLettersInput;
}

/** Every operation; each rejects with ApiProblem when the answer is an error. */
export interface Api {
  /** Whether MySQL answers. Needs no key. */
  getHealth(): Promise<Answer<{
    readonly status: "ok";
    readonly database: "ok";
  }>>;
  /** This document. Needs no key. */
  getOpenApi(): Promise<Answer<Readonly<Record<string, unknown>>>>;
  /** This document as a page to read. Needs no key. */
  getDocs(): Promise<Answer<string>>;
  /** Create a task. Needs the scope `write`. */
  createTask(args: CreateTaskArgs): Promise<Answer<Task>>;
  /** List tasks, newest first. Items have `request.bodyBytes` in place of the body. Needs the scope `read`. */
  listTasks(args?: ListTasksArgs): Promise<Answer<TaskPage>>;
  /** Create up to 200 tasks. Each item stands for itself: some may be made and others refused. The same request again makes those without a name a second time, unless it has an `Idempotency-Key`: then it gets the first answer, refusals too, if that had made one. Needs the scope `write`. */
  createTasks(args: CreateTasksArgs): Promise<Answer<BulkAnswer>>;
  /** Create or replace a task by name. The task of this name is as the request says afterwards, whatever it was before; what is not given has its default. `name` may be left out of the body. Needs the scope `write`. */
  putTask(args: PutTaskArgs): Promise<Answer<Task>>;
  /** Read a task by name. A task without a name has its id for one. Needs the scope `read`. */
  getTaskByName(args: GetTaskByNameArgs): Promise<Answer<Task>>;
  /** Read a task. Needs the scope `read`. */
  getTask(args: GetTaskArgs): Promise<Answer<Task>>;
  /** Change a task. A JSON merge patch: what is not given stays, null goes back to the default; `schedule` is replaced whole. The result is checked as a new task is. Jobs that exist already keep the request they were made with, except those planned more than 30 s ahead, which are made anew. Those planned for the next 30 s are called also when `schedule`, `startAt` or `endAt` changes; a pause before it cancels them, if its resume comes after their times. A `request.url` with another scheme, host or port takes the task's secrets given anew, or taken away, as in a PUT: each is sent only to the origin that it was given for. Jobs that keep a request to another origin end dead, uncalled. Needs the scope `write`. */
  editTask(args: EditTaskArgs): Promise<Answer<Task>>;
  /** Delete a task. Its name is free at once. Its jobs stay readable; those that wait, between two attempts too, are cancelled. 503 that says so: more jobs than one request gets through; ask again until it is 204 or 404. Needs the scope `write`. */
  deleteTask(args: DeleteTaskArgs): Promise<Answer<null>>;
  /** Pause a task. Jobs that wait are cancelled for good: between two attempts too, and dead ones that are to be retried. Of a call under way a success counts, and a failure is not retried. A resume takes back scheduled runs whose time is still to come, no other job. Pausing a paused task changes nothing. 503 that says so: more jobs than one request gets through; ask again until it is 200. Needs the scope `write`. */
  pauseTask(args: PauseTaskArgs): Promise<Answer<Task>>;
  /** Resume a task. It goes on from now. What passed meanwhile is one cancelled job, and never runs; nor do jobs that the pause has cancelled, but for scheduled runs whose time is still to come. Needs the scope `write`. */
  resumeTask(args: ResumeTaskArgs): Promise<Answer<Task>>;
  /** Run a task now. Works while it is paused or completed too. What is given is laid over the task's request, for this run. Needs the scope `write`. */
  runTask(args: RunTaskArgs): Promise<Answer<Job>>;
  /** Run a task now and wait for what comes of it. The call is that of a scheduled run in everything: executors send it, with the task's request. It is made once, the schedule does not move, and it works while the task is paused or completed too. A tenant may have 10 a minute. An `Idempotency-Key` is refused: each request makes a call; /run takes one. Needs the scope `write`. */
  testTask(args: TestTaskArgs): Promise<Answer<TestOutcome | Job>>;
  /** When a task runs next. Needs the scope `read`. */
  listUpcoming(args: ListUpcomingArgs): Promise<Answer<Occurrences>>;
  /** When a schedule would run. Needs the scope `read`. */
  previewSchedule(args: PreviewScheduleArgs): Promise<Answer<Occurrences>>;
  /** What calls are signed with. By fingerprint: nobody can read a secret again. Needs the scope `read`. */
  listSigningSecrets(): Promise<Answer<SigningSecrets>>;
  /** Make a new signing secret. Also the first one to read. Calls are signed with the one before it too for 24 hours, so that an answer that was lost can be asked for again: of those there are two at most, a third rotation in that time ends the oldest at once. Calls follow within 30 seconds. Needs the scope `admin`. */
  rotateSigningSecret(args?: RotateSigningSecretArgs): Promise<Answer<RotatedSecret>>;
  /** List the tenant's limits. That of all calls first, then by endpoint; those too that only the operator has set. Needs the scope `read`. */
  listLimits(args?: ListLimitsArgs): Promise<Answer<LimitPage>>;
  /** Limit the calls to an endpoint, or all calls. It holds over all executors, for this tenant's calls; where several limits hold, each is kept. A job over a limit is `waiting`, which costs no attempt and holds no other job up. The limit is as the request says afterwards: what is not given is not limited. A change holds for calls that start after it; a new limit also for jobs that wait by then, but not for calls that executors have taken already. A tenant may have set 1,000 at a time. Needs the scope `write`. */
  putLimit(args: PutLimitArgs): Promise<Answer<Limit>>;
  /** Take a limit away. What waits goes on. A cap that the operator has set stays. Needs the scope `write`. */
  deleteLimit(args?: DeleteLimitArgs): Promise<Answer<null>>;
  /** List a task's jobs, newest first. Those under way, finished and archived, of a deleted task too. A running job whose time has not come shows as `pending`. Needs the scope `read`. */
  listTaskJobs(args: ListTaskJobsArgs): Promise<Answer<JobPage>>;
  /** Read a job with its attempts. Needs the scope `read`. */
  getJob(args: GetJobArgs): Promise<Answer<Job>>;
  /** Retry a dead job. It is due at once and may make as many attempts more as its task says; its id, attempts and history go on. One that is archived already is made anew, under a new id, with `retryOf` and its task's request of now. Needs the scope `write`. */
  retryJob(args: RetryJobArgs): Promise<Answer<Job>>;
  /** Cancel a job. Needs the scope `write`. */
  cancelJob(args: CancelJobArgs): Promise<Answer<Job>>;
  /** List dead jobs, the last that died first. Until they are archived, which is 14 days after their death. Needs the scope `read`. */
  listDeadLetters(args?: ListDeadLettersArgs): Promise<Answer<DeadLetterPage>>;
  /** Retry all dead jobs that a filter matches. The first that died goes first. There may be more: ask again with the same `to`, such as the time of the first request, until `moved` is 0, each time when what was moved has started (`moved` ÷ `perSecond` s). Without `to` what has died again is matched again. 422 for `to`: so many dead jobs of deleted tasks come first that one request does not pass over them; ask with the `to` that it says. An `Idempotency-Key` is refused: with `to`, such as the time of the first request, a repeat moves no job a second time. Needs the scope `write`. */
  retryDeadLetters(args?: RetryDeadLettersArgs): Promise<Answer<RetriedDeadLetters>>;
}

export const OPERATIONS = {
  getHealth: {"method":"GET","path":"/v1/health","query":[],"headers":{}},
  getOpenApi: {"method":"GET","path":"/v1/openapi.json","query":[],"headers":{}},
  getDocs: {"method":"GET","path":"/v1/docs","query":[],"headers":{}},
  createTask: {"method":"POST","path":"/v1/tasks","query":[],"headers":{"idempotencyKey":"Idempotency-Key"}},
  listTasks: {"method":"GET","path":"/v1/tasks","query":["status","priority","tag","limit","cursor"],"headers":{}},
  createTasks: {"method":"POST","path":"/v1/tasks/bulk","query":[],"headers":{"idempotencyKey":"Idempotency-Key"}},
  putTask: {"method":"PUT","path":"/v1/tasks/by-name/{name}","query":[],"headers":{"ifMatch":"If-Match","ifNoneMatch":"If-None-Match"}},
  getTaskByName: {"method":"GET","path":"/v1/tasks/by-name/{name}","query":[],"headers":{}},
  getTask: {"method":"GET","path":"/v1/tasks/{taskId}","query":[],"headers":{}},
  editTask: {"method":"PATCH","path":"/v1/tasks/{taskId}","query":[],"headers":{"ifMatch":"If-Match"}},
  deleteTask: {"method":"DELETE","path":"/v1/tasks/{taskId}","query":[],"headers":{"ifMatch":"If-Match"}},
  pauseTask: {"method":"POST","path":"/v1/tasks/{taskId}/pause","query":[],"headers":{}},
  resumeTask: {"method":"POST","path":"/v1/tasks/{taskId}/resume","query":[],"headers":{}},
  runTask: {"method":"POST","path":"/v1/tasks/{taskId}/run","query":[],"headers":{"idempotencyKey":"Idempotency-Key"}},
  testTask: {"method":"POST","path":"/v1/tasks/{taskId}/test","query":[],"headers":{}},
  listUpcoming: {"method":"GET","path":"/v1/tasks/{taskId}/upcoming","query":["count"],"headers":{}},
  previewSchedule: {"method":"POST","path":"/v1/schedules/preview","query":[],"headers":{}},
  listSigningSecrets: {"method":"GET","path":"/v1/signing-secret","query":[],"headers":{}},
  rotateSigningSecret: {"method":"POST","path":"/v1/signing-secret/rotate","query":[],"headers":{}},
  listLimits: {"method":"GET","path":"/v1/limits","query":["limit","cursor"],"headers":{}},
  putLimit: {"method":"PUT","path":"/v1/limits","query":[],"headers":{}},
  deleteLimit: {"method":"DELETE","path":"/v1/limits","query":["endpoint"],"headers":{}},
  listTaskJobs: {"method":"GET","path":"/v1/tasks/{taskId}/jobs","query":["status","from","to","limit","cursor"],"headers":{}},
  getJob: {"method":"GET","path":"/v1/jobs/{jobId}","query":[],"headers":{}},
  retryJob: {"method":"POST","path":"/v1/jobs/{jobId}/retry","query":[],"headers":{"idempotencyKey":"Idempotency-Key"}},
  cancelJob: {"method":"POST","path":"/v1/jobs/{jobId}/cancel","query":[],"headers":{}},
  listDeadLetters: {"method":"GET","path":"/v1/dead-letters","query":["taskId","from","to","limit","cursor"],"headers":{}},
  retryDeadLetters: {"method":"POST","path":"/v1/dead-letters/retry","query":[],"headers":{}},
} as const;

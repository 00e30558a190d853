/**
 * What an operation takes and answers, beside its route. The schemas are those that validate; from the contracts come the OpenAPI
 * document, the reference page and the client, and the tests hold every answer against them.
 */
import type { z } from "zod";
import type { ProblemStatus } from "./problem.ts";

export type RequestHeader = "idempotency-key" | "if-match" | "if-none-match";
export type AnswerHeader = "etag" | "location" | "idempotency-replayed";

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface BodyContract {
  readonly schema: z.ZodType;
  /** Whether a request without a body is refused. */
  readonly required: boolean;
  readonly examples: Readonly<Record<string, Example>>;
}

export interface AnswerContract {
  readonly description: string;
  /** Null: without a body. */
  readonly schema: z.ZodType | null;
  /** `application/json` where none is given. */
  readonly contentType?: string;
  readonly headers?: readonly AnswerHeader[];
  /** Headers that only some of these answers have. */
  readonly perhaps?: readonly AnswerHeader[];
  readonly example?: unknown;
}

export interface Contract {
  readonly tag: "tasks" | "schedules" | "jobs" | "dead letters" | "limits" | "signing" | "service";
  readonly summary: string;
  readonly description?: string;
  /** What is asked for in the query; null when nothing is. */
  readonly query: z.ZodObject | null;
  readonly headers?: readonly RequestHeader[];
  /** Null: a body is not looked at. */
  readonly body: BodyContract | null;
  readonly answers: Readonly<Record<number, AnswerContract>>;
  /** Errors of this operation, beside those that each one can answer. */
  readonly problems: readonly ProblemStatus[];
}

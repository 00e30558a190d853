import { createConnection } from "node:net";
import { SetupError } from "./setup-error.ts";

export const CASSANDRA_PORT_DEFAULT = 9042;

/** An OPTIONS frame of the native protocol, version 4: answered before any log-in. */
const OPTIONS_FRAME = Buffer.from([4, 0, 0, 0, 5, 0, 0, 0, 0]);
const RESPONSE_V4 = 0x84;
const ANSWER_MS = 2_000;

/** Tries until one of the nodes (`host:port`) answers. Throws SetupError after `deadlineMs`. */
export async function waitUntilCassandraAnswers(
  points: readonly string[],
  progress: (line: string) => void,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const endsAt = performance.now() + deadlineMs;
  let nextWordAt = performance.now() + 2_000;
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted();
    const point = points[tries % points.length] ?? "";
    if (await cassandraAnswers(point)) return;
    if (performance.now() > endsAt) {
      throw new SetupError(
        `Cassandra at ${points.join(", ")} did not answer within ${deadlineMs / 1000} s: start it, or unset CASSANDRA_CONTACT_POINTS`,
      );
    }
    if (performance.now() > nextWordAt) {
      progress(`waiting for Cassandra at ${point}`);
      nextWordAt += 5_000;
    }
    await new Promise((wake) => setTimeout(wake, 200));
  }
}

/** Whether `host:port` speaks CQL. */
export function cassandraAnswers(point: string): Promise<boolean> {
  const url = new URL(`cql://${point}`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    const socket = createConnection({ host, port: Number(url.port || CASSANDRA_PORT_DEFAULT) });
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(ANSWER_MS, () => end(false));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
    socket.once("connect", () => socket.write(OPTIONS_FRAME));
    socket.once("data", (data) => end(data[0] === RESPONSE_V4));
  });
}

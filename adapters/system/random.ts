import { randomBytes } from "node:crypto";
import type { Random } from "#core/ports/random.ts";

/** The operating system's random bytes; the unit interval from the runtime's generator. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  unit: () => Math.random(),
};

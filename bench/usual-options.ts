/** What a bench's tests start from: every option as it is when none is given. */
import type { BenchOptions } from "./scenario.ts";

export const usual: BenchOptions = {
  quick: false,
  seed: 1,
  seconds: null,
  executors: null,
  rounds: null,
  tls: 0,
  cold: false,
  delayMs: 0,
  materialise: false,
  soak: false,
  profileDir: null,
};

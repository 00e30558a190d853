/** How often a tenant may have tasks called as a test: at most `callsMax` in any span of `windowMs`. */
export interface TestLimit {
  readonly callsMax: number;
  readonly windowMs: number;
}

export type TestAdmission =
  /** `recent`: what to remember, this one included. */
  | { readonly kind: "admitted"; readonly recent: readonly number[] }
  | { readonly kind: "limited"; readonly retryAfterMs: number };

/** `recent`: instants of those before, oldest first. */
export function admitTest(
  recent: readonly number[],
  nowMs: number,
  { callsMax, windowMs }: TestLimit,
): TestAdmission {
  // One that seems to lie ahead was noted before the database's clock was set back: it must not block for long.
  const counted = recent.filter((atMs) => atMs > nowMs - windowMs && atMs <= nowMs + windowMs);
  const [oldest = nowMs] = counted;
  return counted.length < callsMax
    ? { kind: "admitted", recent: [...counted, nowMs] }
    : { kind: "limited", retryAfterMs: Math.max(1, oldest + windowMs - nowMs) };
}

/** Thrown when our own code is wrong. It is never caught to carry on; entry points end the process or answer 500. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** States what must hold. Stays on in production: a wrong assumption must stop the work before it is written. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(`${message} (indicates a bug)`);
}

/** Marks the branch that the type system proves unreachable. */
export function unreachable(value: never): never {
  // Its kind alone: the value may hold what a tenant wrote, and messages reach the log.
  const { kind } = (value ?? {}) as { readonly kind?: unknown };
  const said = typeof kind === "string" ? kind : typeof value;
  throw new AssertionError(`unexpected value of kind ${said} (indicates a bug)`);
}

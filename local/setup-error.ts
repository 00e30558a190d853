/** What keeps the local stack from running, in one line that says what to do. `retryable` is false: a human has to act. */
export class SetupError extends Error {
  override readonly name = "SetupError";
  readonly code = "local_setup";
  readonly retryable = false;
}

import { OperatingError } from "#core/domain/errors.ts";

/** What keeps the local stack from running, in one line that says what to do: a human has to act. */
export class SetupError extends OperatingError {
  override readonly name = "SetupError";
  readonly code = "local-setup";
  readonly retryable = false;
}

/** Operating errors: the world failed, not the code. `code` is stable, `retryable` says whether the same call may succeed later. */
export abstract class OperatingError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
}

/** A store does not answer, or answers that it cannot serve now (connection lost, read-only after a failover, lock wait, deadline). Nothing was written. */
export class StoreUnavailable extends OperatingError {
  override readonly name = "StoreUnavailable";
  readonly code = "store-unavailable";
  readonly retryable = true;
}

/** The answer to a COMMIT was lost: the write happened or it did not. */
export class OutcomeUnknown extends OperatingError {
  override readonly name = "OutcomeUnknown";
  readonly code = "outcome-unknown";
  readonly retryable = true;
}

/** A store refused what we sent: our statement or our data is wrong. */
export class StoreRefused extends OperatingError {
  override readonly name = "StoreRefused";
  readonly code = "store-refused";
  readonly retryable = false;
}

/** Configuration that no process can run with; the message names the setting. */
export class ConfigurationInvalid extends OperatingError {
  override readonly name = "ConfigurationInvalid";
  readonly code = "configuration-invalid";
  readonly retryable = false;
}

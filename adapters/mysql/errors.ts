/**
 * The only place that reads the driver's errors. They carry the whole statement with its values (`err.sql`), and the server can
 * echo a value in its message: what leaves here is our own class with the driver's code and number, never the error itself.
 */
import {
  OperatingError,
  OutcomeUnknown,
  StoreRefused,
  StoreUnavailable,
} from "#core/domain/errors.ts";

/** What may be said of a driver's error: stable codes, no text that a tenant could have written. */
export class DriverFault extends Error {
  override readonly name = "DriverFault";
  readonly code: string;
  readonly errno: number | null;
  /** SQLSTATE, where the server has answered. */
  readonly state: string | null;
  /** Of a duplicate: the unique key that was met. */
  readonly keyName: string | null;

  constructor(
    code: string,
    errno: number | null,
    state: string | null = null,
    keyName: string | null = null,
  ) {
    super(errno === null ? code : `${code} (${errno})`);
    this.code = code;
    this.errno = errno;
    this.state = state;
    this.keyName = keyName;
  }
}

const LOCK_WAIT = 1205;
/** Rolled back as a whole by the server, or not begun: the same transaction may be run again at once. */
const RETRY_AT_ONCE: readonly number[] = [1213, LOCK_WAIT, 3572];
const DUPLICATE = 1062;
/** A writer that a failover has made a reader: the connection must go, the pool finds the new writer. */
const READ_ONLY: readonly number[] = [1290, 1792, 1836];
/**
 * The server answers, but not to us and not now: too many connections, shutting down, interrupted, killed, its end of the connection or a
 * COMMIT of its own failed. That leaves open whether a write was done.
 */
const SERVER_BUSY: readonly number[] = [
  1040, 1053, 1158, 1159, 1160, 1161, 1180, 1203, 1226, 1317, 1927, 3024, 3100, 3169, 3032, 4031,
];
/**
 * What says that a statement or its data can never be taken, by the class of its SQLSTATE: not supported, cardinality, data, constraint,
 * account, syntax and names. Anything else that the server says (no room, no memory, table changed, what is not known here) may go by.
 */
const REFUSED_CLASSES: readonly string[] = ["0A", "21", "22", "23", "28", "42"];
/** … and those to which MySQL gives no such class: too large, not a value of its column or character set, none given, against a CHECK. */
const REFUSED: readonly number[] = [1153, 1265, 1300, 1301, 1364, 1366, 1411, 3819];
/** Nobody has migrated this server yet. */
const NOT_MIGRATED: readonly number[] = [1049, 1054, 1146];
const ACCESS: readonly number[] = [1044, 1045, 1130, 1142, 1698, 3159];
/** The account does not let us in: its password may have been rotated. */
const ACCOUNT_REFUSED: readonly number[] = [1045, 1698];
const DEADLINE_CODE = "PROTOCOL_SEQUENCE_TIMEOUT";

interface DriverError {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly sqlState?: unknown;
  readonly message?: unknown;
}

/** Reduces what a driver's call failed with to its codes. */
export function toFault(error: unknown): DriverFault {
  const { code, errno, sqlState, message } = error as DriverError;
  // System errors (ECONNREFUSED) carry a negative errno of their own: only the server's numbers are kept.
  const fromServer = typeof sqlState === "string" && typeof errno === "number" && errno > 0;
  const key = errno === DUPLICATE ? /for key '(?:[^'.]*\.)?([^'.]*)'$/.exec(String(message)) : null;
  return new DriverFault(
    typeof code === "string" ? code : "DRIVER_REFUSED",
    fromServer ? errno : null,
    fromServer ? sqlState : null,
    key?.[1] ?? null,
  );
}

/** As `toFault`, where other errors than the driver's may come too: null for those. */
export function readFault(error: unknown): DriverFault | null {
  if (error instanceof OperatingError || !(error instanceof Error)) return null;
  return typeof (error as DriverError).code === "string" ? toFault(error) : null;
}

export function isRetryAtOnce(fault: DriverFault): boolean {
  return fault.errno !== null && RETRY_AT_ONCE.includes(fault.errno);
}

/** Whether a statement waited too long for somebody's lock. */
export function isLockWait(fault: DriverFault): boolean {
  return fault.errno === LOCK_WAIT;
}

/** Whether the server does not know the account, or not with this password. */
export function isAccountRefused(fault: DriverFault): boolean {
  return fault.errno !== null && ACCOUNT_REFUSED.includes(fault.errno);
}

/** Whether a translated error is that a unique key has the value already. */
export function isDuplicateOf(error: unknown, keyName: string): boolean {
  if (!(error instanceof StoreRefused) || !(error.cause instanceof DriverFault)) return false;
  return error.cause.errno === DUPLICATE && error.cause.keyName === keyName;
}

/** Whether a translated error is that nobody has migrated this server so far. */
export function isNotMigrated(error: unknown): boolean {
  if (!(error instanceof StoreRefused) || !(error.cause instanceof DriverFault)) return false;
  const { errno } = error.cause;
  return errno !== null && NOT_MIGRATED.includes(errno);
}

/** Whether the server has said that it will never take this: then what was asked has not happened. */
function isRefusal({ errno, state }: DriverFault): boolean {
  if (errno === null || SERVER_BUSY.includes(errno)) return false;
  return REFUSED.includes(errno) || REFUSED_CLASSES.includes(state?.slice(0, 2) ?? "");
}

/**
 * The error that callers see.
 * `write` is for statements that may have taken effect although no answer came: an autocommit write (`alone`), which the server takes back
 * when it says why it has failed, and a COMMIT.
 */
export function translate(fault: DriverFault, write: false | "alone" | "commit"): Error {
  const cause = fault;
  const { errno } = fault;
  if (errno !== null && (READ_ONLY.includes(errno) || RETRY_AT_ONCE.includes(errno))) {
    return new StoreUnavailable(`MySQL cannot write now: ${fault.message}`, { cause });
  }
  if (errno !== null && NOT_MIGRATED.includes(errno)) {
    return new StoreRefused(
      `MySQL has no such database, table or column: run the migrations (${fault.message})`,
      { cause },
    );
  }
  if (errno !== null && ACCESS.includes(errno)) {
    return new StoreRefused(`MySQL refuses the account of its URL or secret: ${fault.message}`, {
      cause,
    });
  }
  if (isRefusal(fault)) {
    return new StoreRefused(`MySQL refuses the statement: ${fault.message}`, { cause });
  }
  const isOpen = errno === null || SERVER_BUSY.includes(errno);
  if (write === "commit" || (write === "alone" && isOpen)) {
    const what = isOpen ? "did not answer a write" : "did not end a COMMIT";
    return new OutcomeUnknown(`MySQL ${what}: ${fault.message}`, { cause });
  }
  if (!isOpen) return new StoreUnavailable(`MySQL cannot do it now: ${fault.message}`, { cause });
  const what = fault.code === DEADLINE_CODE ? "did not answer in time" : "does not answer";
  return new StoreUnavailable(`MySQL ${what}: ${fault.message}`, { cause });
}

/**
 * The only place that reads the driver's errors. They carry the statement and can echo values: what leaves here is our own class
 * with a stable code, never the error itself.
 */
import { errors, types } from "cassandra-driver";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";

/**
 * `busy`: a node answers, but cannot serve at this moment. `unreachable`: no node could be asked. `late`: we have waited as long as
 * we may. The others are answers that will not change by asking again.
 */
type FaultKind = "busy" | "unreachable" | "late" | "not-migrated" | "access" | "refused";

/** What may be said of a driver's error: a stable code, no text that a tenant could have written. */
export class CassandraFault extends Error {
  override readonly name = "CassandraFault";
  readonly code: string;
  readonly kind: FaultKind;

  constructor(code: string, kind: FaultKind) {
    super(code);
    this.code = code;
    this.kind = kind;
  }
}

const { responseErrorCodes: codes } = types;

/** The cluster answers but cannot serve now. Keyspaces throttles with timeouts and overload. */
const BUSY: readonly number[] = [
  codes.serverError,
  codes.unavailableException,
  codes.overloaded,
  codes.isBootstrapping,
  codes.truncateError,
  codes.writeTimeout,
  codes.readTimeout,
  codes.readFailure,
  codes.writeFailure,
];
const ACCESS: readonly number[] = [codes.badCredentials, codes.unauthorized];

export function deadlineFault(): CassandraFault {
  return new CassandraFault("deadline", "late");
}

/** The store has been closed by its owner: nothing is asked any more. */
export function closedFault(): CassandraFault {
  return new CassandraFault("closed", "late");
}

/** Reduces what a driver call threw to its code. Errors of our own code are not the driver's: null. */
export function readFault(error: unknown): CassandraFault | null {
  if (error instanceof CassandraFault) return error;
  if (error instanceof errors.NoHostAvailableError) return readHostFaults(error);
  if (error instanceof errors.OperationTimedOutError)
    return new CassandraFault("timed-out", "late");
  if (error instanceof errors.BusyConnectionError) return new CassandraFault("connections", "busy");
  if (error instanceof errors.AuthenticationError)
    return new CassandraFault("authentication", "access");
  if (error instanceof errors.ResponseError) return readResponse(error.code, error.message);
  if (error instanceof errors.DriverError) return new CassandraFault("driver", "unreachable");
  // A socket's system errors, and what the driver throws as plain errors: "No connection available".
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) {
    return new CassandraFault(code, "unreachable");
  }
  const isPlain = error instanceof Error && error.constructor === Error;
  return isPlain ? new CassandraFault("no-connection", "unreachable") : null;
}

/** All nodes failed: what one of them has answered says more than that others are away. */
function readHostFaults(error: errors.NoHostAvailableError): CassandraFault {
  for (const inner of Object.values((error.innerErrors ?? {}) as Record<string, unknown>)) {
    const fault = readFault(inner);
    if (fault !== null && fault.kind !== "unreachable" && fault.kind !== "late") return fault;
  }
  return new CassandraFault("no-host", "unreachable");
}

function readResponse(code: number, message: string): CassandraFault {
  const name = `0x${code.toString(16).padStart(4, "0")}`;
  if (BUSY.includes(code)) return new CassandraFault(name, "busy");
  if (ACCESS.includes(code)) return new CassandraFault(name, "access");
  const missing =
    code === codes.invalid && /keyspace .* not exist|table .* not exist/i.test(message);
  return new CassandraFault(name, missing ? "not-migrated" : "refused");
}

/** Of an error that callers see: Cassandra answers, but could not serve in time, which may hold for one partition only. */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable &&
    error.cause instanceof CassandraFault &&
    error.cause.kind === "busy"
  );
}

/** The error that callers see. */
export function translate(fault: CassandraFault): StoreUnavailable | StoreRefused {
  const options = { cause: fault };
  switch (fault.kind) {
    case "busy":
    case "unreachable":
    case "late":
      return new StoreUnavailable(`Cassandra does not answer: ${fault.code}`, options);
    case "not-migrated":
      return new StoreRefused(
        `Cassandra has no such keyspace or table: run the migrations (${fault.code})`,
        options,
      );
    case "access":
      return new StoreRefused(`Cassandra refuses our account: ${fault.code}`, options);
    case "refused":
      return new StoreRefused(`Cassandra refuses the statement: ${fault.code}`, options);
  }
}

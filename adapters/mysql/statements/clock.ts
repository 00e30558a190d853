/**
 * The database's clock. In a transaction it is read after the lock was got that the time is for.
 *
 * Locks: none. Result: one row.
 */
export function selectClockSql(): string {
  return "SELECT UTC_TIMESTAMP(3)";
}

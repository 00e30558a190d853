import type { Connection } from "#adapters/mysql/pool.ts";

/**
 * Releases a connection without its locks: the server has let go of them when it answers. Of a connection that is closed it does so some
 * time later, and the next test would find rows locked by nobody it knows.
 */
export async function giveBack(connection: Connection): Promise<void> {
  try {
    await connection.write("ROLLBACK");
    connection.release();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

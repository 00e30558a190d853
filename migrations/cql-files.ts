/** The migrations of Cassandra as they lie on disk, and what each statement does. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigurationInvalid } from "#core/domain/errors.ts";

/** Apache Cassandra, or Amazon Keyspaces, which takes part of its settings in the statement. */
export type CassandraService = "cassandra" | "keyspaces";

export interface CqlMigration {
  /** `0001_create_jobs_by_task` */
  readonly name: string;
  readonly statements: readonly string[];
}

const FOLDER = join(import.meta.dirname, "cassandra");
const ONLY = {
  keyspaces: /^[ \t]*--[ \t]*keyspaces:(.*)$/gm,
  cassandra: /^[ \t]*--[ \t]*cassandra:(.*)$/gm,
};
const COMMENT = /^[ \t]*--.*$/gm;

/** Oldest first. Throws ConfigurationInvalid for a file whose name is not NNNN_verb_object.cql. */
export async function readCqlMigrations(service: CassandraService): Promise<CqlMigration[]> {
  const files = (await readdir(FOLDER)).sort();
  return Promise.all(
    files.map(async (file) => {
      if (!/^\d{4}_[a-z0-9_]+\.cql$/.test(file)) {
        throw new ConfigurationInvalid(`${file} is not named NNNN_verb_object.cql`);
      }
      const text = await readFile(join(FOLDER, file), "utf8");
      return { name: file.slice(0, -".cql".length), statements: splitCql(text, service) };
    }),
  );
}

/** A statement ends with `;` at the end of a line; `-- keyspaces: …` is part of it on Keyspaces, `-- cassandra: …` on Cassandra. */
export function splitCql(text: string, service: CassandraService): string[] {
  return text
    .replace(ONLY[service], "$1")
    .replace(COMMENT, "")
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

/** The table that a statement makes or changes. */
export function tableOf(statement: string): string | null {
  const match = /^(?:CREATE TABLE(?: IF NOT EXISTS)?|ALTER TABLE)\s+([a-z0-9_]+)/i.exec(statement);
  return match?.[1] ?? null;
}

/** The statement with its table's keyspace written out: no session state is needed to run it. */
export function qualify(statement: string, keyspace: string): string {
  const table = tableOf(statement);
  if (table === null) throw new ConfigurationInvalid(`no table in: ${statement.split("\n")[0]}`);
  return statement.replace(new RegExp(`\\b${table}\\b`), `${keyspace}.${table}`);
}

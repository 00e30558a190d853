import { join } from "node:path";
import { installPythonProgram } from "#test/support/python-program.ts";

const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");

/** The path of Schemathesis, installed if it is not yet. Throws with what is missing, and how to get it. */
export function installSchemathesis(): string {
  return installPythonProgram("schemathesis", REQUIREMENTS);
}

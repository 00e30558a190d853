/** The process's environment: read here only, so that entry points see what their env.ts declares and nothing else. */
export function processEnv(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

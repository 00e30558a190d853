import { spawnSync } from "node:child_process";

/** Whether this process may have namespaces of its own. In a container that is not privileged it may not; in CI it has to. */
export function mayUnshare(flags: readonly string[]): boolean {
  return process.env.CI !== undefined || spawnSync("unshare", [...flags, "true"]).status === 0;
}

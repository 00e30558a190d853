import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { runCommand } from "./run-command.ts";

const COMPOSE_FILE = resolve(import.meta.dirname, "..", "docker-compose.yml");
const DOCKER_INFO_MS = 5_000;

/** Whether a Docker engine with Compose can be used. */
export async function dockerAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const result = await runCommand("docker", ["info", "--format", "{{.ServerVersion}}"], {
    timeoutMs: DOCKER_INFO_MS,
    env,
  });
  // Some clients exit 0 without an engine: the version is what tells.
  if (result.code !== 0 || !/^\d/.test(result.stdout)) return false;
  return (
    (await runCommand("docker", ["compose", "version"], { timeoutMs: DOCKER_INFO_MS, env }))
      .code === 0
  );
}

/** One Compose project per data folder, so that two copies run side by side. */
export function composeArgs(dir: string): string[] {
  const project = `at-and-cron-${createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 8)}`;
  return ["compose", "--project-name", project, "--file", COMPOSE_FILE];
}

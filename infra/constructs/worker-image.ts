/** The image of both workers, built from workers/Dockerfile when it is deployed: a synthesis only looks at what goes into it. */
import { resolve } from "node:path";
import { IgnoreMode } from "aws-cdk-lib";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";

const ROOT = resolve(import.meta.dirname, "../..");
/** What the Dockerfile copies. */
const FILES = ["package.json", "package-lock.json", ".npmrc", "core", "adapters", "workers"];

export function workerImage(): ContainerImage {
  return ContainerImage.fromAsset(ROOT, {
    file: "workers/Dockerfile",
    platform: Platform.LINUX_ARM64,
    ignoreMode: IgnoreMode.DOCKER,
    exclude: ["*", ...FILES.map((path) => `!${path}`), "**/*.test.ts", "adapters/memory"],
  });
}

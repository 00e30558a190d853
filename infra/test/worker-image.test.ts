/** What the image is built from at a deploy: everything that workers/Dockerfile copies, nothing that does not belong there. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { makeCell, type Properties, resourcesOf } from "./cell-templates.ts";

const dockerfile = readFileSync(resolve(import.meta.dirname, "../../workers/Dockerfile"), "utf8");
const cell = makeCell("prod");
const context = contextOf(cell.synth().directory);

describe("the image of the workers", () => {
  it("is built for arm64 from what its Dockerfile copies", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )*(.+) \S+$/gm)].flatMap(
      ([, sources = ""]) => sources.split(" "),
    );
    assert.ok(copied.length > 0);
    for (const source of copied) assert.ok(existsSync(join(context, source)), source);
  });

  it("is readable by its user, whatever the umask under which the repository was checked out", () => {
    const copies = dockerfile.match(/^COPY (?!--from).*$/gm)?.slice(1) ?? [];
    assert.ok(copies.length >= 4);
    for (const copy of copies) assert.match(copy, /^COPY --chmod=755 /);
  });

  it("has no test, no key, no package and no other room of the repository inside", () => {
    const files = globSync("**/*", { cwd: context });
    assert.ok(files.length > 100);
    const strangers = files.filter((path) =>
      /\.test\.ts$|(^|\/)(node_modules|test|infra|bench|local|\.git|\.local|cdk\.out)(\/|$)|\.(key|pem|env)$/.test(
        path,
      ),
    );
    assert.deepEqual(strangers, []);
  });

  it("has the Node that everything else runs on, and its zone data", () => {
    const images = [
      ...dockerfile.matchAll(/^FROM .*\bnode:(\S+?)-bookworm-slim@sha256:[0-9a-f]{64}/gm),
    ];
    assert.deepEqual(
      new Set(images.map(([, version]) => `v${version}`)),
      new Set([process.version]),
    );
    assert.equal(images.length, [...dockerfile.matchAll(/^FROM /gm)].length);
  });

  it("is run by the user that it is made for, with a program that is in it", () => {
    const user = /^USER (\S+)$/m.exec(dockerfile)?.[1];
    for (const [, { Properties }] of resourcesOf(cell.workers, "AWS::ECS::TaskDefinition")) {
      const [container] = Properties.ContainerDefinitions as Properties[];
      assert.ok(container);
      assert.equal(container.User, user);
      const [node, program = ""] = container.Command as string[];
      assert.equal(node, "node");
      assert.ok(existsSync(join(context, program)), program);
    }
  });
});

/** The folder that is given to Docker, in the assembly in `directory`. */
function contextOf(directory: string): string {
  const [manifest] = globSync("*workers*.assets.json", { cwd: directory });
  assert.ok(manifest);
  const { dockerImages } = JSON.parse(readFileSync(join(directory, manifest), "utf8")) as {
    dockerImages: Record<string, { source: { directory: string; platform: string } }>;
  };
  const [image, ...more] = Object.values(dockerImages);
  assert.ok(image && more.length === 0, "both workers are one image");
  assert.equal(image.source.platform, "linux/arm64");
  return resolve(directory, image.source.directory);
}

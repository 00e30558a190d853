import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdminCommand, readCommandLine, UsageError, usageOf } from "./arguments.ts";

const run = async () => ({ json: null, lines: [] });
const commands: readonly AdminCommand[] = [
  { name: "tenant create", operands: ["TENANT"], options: { name: "NAME" }, about: "", run },
  { name: "tenant list", operands: [], options: {}, about: "", run },
  { name: "key create", operands: ["TENANT"], options: { scopes: "SCOPES" }, about: "", run },
];

function read(line: string) {
  const read = readCommandLine(line === "" ? [] : line.split(" "), commands);
  return read === "help" ? read : { ...read, command: read.command.name };
}

test("reads commands, operands and options in any order", () => {
  assert.deepEqual(read("tenant create acme --name Acme"), {
    command: "tenant create",
    operands: ["acme"],
    options: { name: "Acme" },
    json: false,
    mysqlUrl: null,
  });
  assert.deepEqual(read("--json --mysql-url=mysql://a tenant list"), {
    command: "tenant list",
    operands: [],
    options: {},
    json: true,
    mysqlUrl: "mysql://a",
  });
  for (const line of ["", "--help", "-h", "tenant create --help", "nonsense --help"])
    assert.equal(read(line), "help", line);
});

test("what it does not know is told in one line, with what there is", () => {
  for (const [line, message] of [
    ["tenant", /no command 'tenant': there is tenant create, tenant list$/],
    ["tenant drop acme", /no command 'tenant drop': there is tenant create, tenant list$/],
    ["bogus", /there is tenant create, tenant list, key create$/],
    ["tenant create", /is written: tenant create TENANT \[--name NAME\]$/],
    ["tenant create a b", /is written/],
    ["tenant list --name a", /'tenant list' has no option --name/],
    ["tenant list --bogus", /Unknown option '--bogus'$/],
    ["tenant create a --name", /'--name <value>' argument missing$/],
    [
      "tenant create a --name -1",
      /'--name' argument is ambiguous. Did you forget .*\? To specify .* use '--name=-XYZ'\.$/,
    ],
    ["tenant list --json=x", /does not take an argument$/],
    ["atcron_14kshb1395g50kv45x7pev2yp9cha2ncgqp749mavqh69x2veq0x", /no command 'atcron_14k…'/],
  ] as const)
    assert.throws(
      () => read(line),
      (error) =>
        error instanceof UsageError && message.test(error.message) && !/\n/.test(error.message),
      line,
    );
});

test("a command's usage is what can be typed", () => {
  assert.deepEqual(commands.map(usageOf), [
    "tenant create TENANT [--name NAME]",
    "tenant list",
    "key create TENANT [--scopes SCOPES]",
  ]);
});

/** Who may import whom (docs/architecture.md): per room, what Biome must refuse and what it must let pass. */
export type Boundary = {
  /** The importing file. */
  readonly from: string;
  readonly refused: readonly string[];
  readonly allowed: readonly string[];
};

export const boundaries: readonly Boundary[] = [
  {
    from: "core/domain/importer.ts",
    refused: [
      "#core/ports/clock.ts",
      "#core/services/scheduler/tick.ts",
      "#adapters/system/clock.ts",
      "../ports/clock.ts",
      "node:fs",
      "zod",
    ],
    allowed: ["./schedule.ts", "cron-parser"],
  },
  {
    from: "core/ports/importer.ts",
    refused: [
      "#core/services/scheduler/tick.ts",
      "#adapters/system/clock.ts",
      "../domain/job.ts",
      "../services/scheduler/tick.ts",
      "cron-parser",
      "mysql2/promise",
      "node:stream",
      "zod",
    ],
    allowed: ["#core/domain/job.ts", "./clock.ts"],
  },
  {
    from: "core/services/scheduler/importer.ts",
    refused: [
      "#core/services/executor/claim.ts",
      "../executor/claim.ts",
      "#adapters/mysql/claim.ts",
      "#functions/tasks-api/handler.ts",
      "#workers/executor/main.ts",
      "#local/start.ts",
      "#test/support/clock.ts",
      "cron-parser",
      "kysely",
      "mysql2",
      "node:crypto",
      "pino",
    ],
    allowed: ["#core/domain/job.ts", "#core/ports/clock.ts", "./plan.ts"],
  },
  {
    from: "adapters/mysql/importer.ts",
    refused: [
      "#core/services/scheduler/tick.ts",
      "#adapters/memory/job-store.ts",
      "#functions/_shared/routes.ts",
      "#workers/_shared/loop.ts",
      "#local/start.ts",
      "#test/contract/job-store.ts",
      "../memory/job-store.ts",
      "../../core/domain/job.ts",
    ],
    allowed: [
      "#core/domain/job.ts",
      "#core/ports/job-store.ts",
      "./errors.ts",
      "mysql2/promise",
      "node:crypto",
    ],
  },
  {
    from: "adapters/mysql/statements/importer.ts",
    refused: [
      "#core/services/scheduler/tick.ts",
      "#adapters/memory/job-store.ts",
      "../../memory/a.ts",
    ],
    allowed: ["#core/domain/job.ts", "../errors.ts"],
  },
  {
    from: "functions/tasks-api/importer.ts",
    refused: [
      "#functions/jobs-api/handler.ts",
      "#workers/_shared/loop.ts",
      "#migrations/migrate.ts",
      "#local/start.ts",
      "#bench/run.ts",
      "#test/support/clock.ts",
      "../jobs-api/handler.ts",
      "../../workers/executor/main.ts",
      "cron-parser",
      "kysely",
      "mysql2/promise",
    ],
    allowed: [
      "#core/services/tasks/create-task.ts",
      "#adapters/mysql/task-store.ts",
      "../_shared/problem.ts",
      "./schema.ts",
      "@middy/core",
      "node:crypto",
      "zod",
    ],
  },
  {
    from: "functions/migrate/importer.ts",
    refused: [
      "#functions/jobs-api/handler.ts",
      "#workers/_shared/loop.ts",
      "#local/start.ts",
      "../jobs-api/handler.ts",
      "kysely",
      "mysql2/promise",
    ],
    allowed: ["#migrations/migrate.ts", "#core/domain/errors.ts", "../_shared/problem.ts"],
  },
  {
    from: "functions/_shared/importer.ts",
    refused: ["../tasks-api/handler.ts", "#workers/_shared/loop.ts", "#functions/tasks-api/env.ts"],
    allowed: ["#core/domain/job.ts", "./problem.ts"],
  },
  {
    from: "workers/executor/importer.ts",
    refused: [
      "#functions/_shared/routes.ts",
      "#workers/scheduler/main.ts",
      "#local/start.ts",
      "../scheduler/main.ts",
      "../../functions/_shared/problem.ts",
      "kysely",
      "mysql2",
    ],
    allowed: [
      "#core/services/executor/claim.ts",
      "#adapters/mysql/job-store.ts",
      "../_shared/loop.ts",
      "./env.ts",
      "pino",
    ],
  },
  {
    from: "infra/stacks/importer.ts",
    refused: [
      "#core/domain/job.ts",
      "#core/ports/clock.ts",
      "#adapters/mysql/job-store.ts",
      "#functions/tasks-api/handler.ts",
      "#functions/_shared/problem.ts",
      "#workers/executor/main.ts",
      "#local/start.ts",
      "../../functions/tasks-api/env.ts",
    ],
    allowed: [
      "#functions/_shared/routes.ts",
      "#core/ports/metrics.ts",
      "#functions/tasks-api/env.ts",
      "#workers/executor/env.ts",
      "../config.ts",
      "aws-cdk-lib",
    ],
  },
  ...["bench", "local", "test/integration"].map((room) => ({
    from: `${room}/importer.ts`,
    refused: ["../../core/domain/job.ts"],
    allowed: [
      "#core/domain/job.ts",
      "#core/services/executor/claim.ts",
      "#adapters/mysql/job-store.ts",
      "#functions/tasks-api/handler.ts",
      "#workers/executor/main.ts",
      "#local/start.ts",
      "#test/support/clock.ts",
      "mysql2/promise",
    ],
  })),
  {
    from: "adapters/mysql/importer.test.ts",
    refused: ["../../test/contract/job-store.ts"],
    allowed: ["#test/contract/job-store.ts", "#core/domain/job.ts", "node:test", "fast-check"],
  },
];

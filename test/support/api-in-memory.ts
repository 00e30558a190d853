/** The API over stores in memory, behind the local gateway on a free port: real HTTP, real events, a clock that the test moves. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { type MemoryShards, openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { CommitHooks } from "#adapters/memory/memory-tables.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Scope } from "#core/ports/control-store.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { MasterKey } from "#core/ports/secrets.ts";
import { createApi } from "#functions/_shared/create-api.ts";
import { jobsOperations } from "#functions/jobs-api/operations.ts";
import { tasksOperations } from "#functions/tasks-api/operations.ts";
import { createGateway } from "#local/gateway-server.ts";
import { type ApiClient, openClient } from "./api-client.ts";
import { ManualClock } from "./manual-clock.ts";
import { secretParts } from "./secret-parts.ts";

const SILENT: Logger = { info() {}, warn() {}, error() {} };
const RETENTION = { succeededMs: 3_600_000, endedMs: 14 * 86_400_000 };

export interface ApiInMemory extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly shards: MemoryShards;
  readonly control: MemoryControlStore;
  readonly history: HistoryStore;
  readonly url: string;
  /** Calls as tenant `acme`, with all scopes. */
  readonly acme: ApiClient;
  /** Adds a key, and calls with it. */
  as(tenant: string, scopes?: readonly Scope[]): ApiClient;
}

export async function openApiInMemory(
  hooks: CommitHooks = {},
  masterKey?: MasterKey,
): Promise<ApiInMemory> {
  const clock = new ManualClock(Date.UTC(2026, 5, 1, 9, 0, 0));
  const shards = openMemoryShards({ clock, hooks });
  const control = new MemoryControlStore(clock);
  const history = openMemoryHistory();
  const deps = {
    shards,
    history,
    control,
    clock,
    random: systemRandom,
    sealer: secretParts(shards, masterKey).vault,
    retention: RETENTION,
    logger: SILENT,
  };
  const server = createGateway(
    {
      "tasks-api": createApi("tasks-api", tasksOperations(deps), deps),
      "jobs-api": createApi("jobs-api", jobsOperations(deps), deps),
    },
    (error) => {
      throw error;
    },
  );
  server.listen(0, "127.0.0.1");
  // A test that fails before it can close this must not keep its process alive.
  server.unref();
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const as = (tenant: string, scopes: readonly Scope[] = ["read", "write", "admin"]) => {
    const key = `${tenant}-${scopes.join("-")}`;
    const hash = createHash("sha256").update(key).digest("hex");
    control.addKey(hash, tenant as TenantId, scopes);
    return openClient(url, key);
  };
  return {
    clock,
    shards,
    control,
    history,
    url,
    acme: as("acme"),
    as,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

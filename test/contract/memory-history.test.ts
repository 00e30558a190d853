import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { historyStoreContract } from "./history-store.contract.ts";

historyStoreContract("memory", async () => ({ store: openMemoryHistory(), nowMs: Date.now() }));

/**
 * Host names to addresses, through c-ares: `dns.lookup` runs in libuv's four threads, where 16 names whose servers hang delay
 * every other name by half a minute.
 *
 * One query is under way per name, whoever waits for it; a caller that gives up leaves it to the others. Answers are kept
 * as long as their TTL says (0: not at all), at most TTL_MS_MAX; that a name does not exist is kept for a second. `localhost`
 * is this machine (RFC 6761), and names of the machine's hosts file are what that file said at the start: neither is asked
 * of a name server. What an address may be used for is not decided here.
 */

import { Resolver } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import { withoutLastDots } from "#core/domain/host-name.ts";
import type { Clock } from "#core/ports/clock.ts";
import { LookupFailed } from "./errors.ts";
import { parseAddress } from "./ip-address.ts";

const ANSWERS_KEPT_MAX = 10_000;
const LOOKUPS_MAX = 10_000;
const TTL_MS_MAX = 300_000;
const NOTHING_THERE_MS = 1_000;
/** A longer answer is nobody's: it would cost memory and checks at every call. */
const ADDRESSES_MAX = 64;
/**
 * For a name server that does not answer. c-ares counts from what the server took lately, not from `timeout`, once it has
 * answered at all: 0.25 s, doubled with each try, so that five tries are 8 s for one that is usually fast, and 18 s at most.
 */
const QUERY = { timeout: 2_000, tries: 5, maxTimeout: 4_000 };
/** How long IPv6 addresses are waited for behind the others: some name servers never answer for them. */
const IPV6_MS = 250;
const NOTHING_THERE: readonly unknown[] = ["ENOTFOUND", "ENODATA"];

export interface HostResolver {
  /** All addresses of a name, at least one. Throws LookupFailed. */
  resolve(name: string): Promise<readonly string[]>;
  close(): void;
}

export interface ResolverOptions {
  readonly clock: Clock;
  /** Whether IPv6 addresses are asked for too. */
  readonly ipv6: boolean;
  /** `address` or `address:port`; the machine's own when absent. */
  readonly nameServers?: readonly string[] | undefined;
  /** Path of a hosts file. */
  readonly hostsFile?: string | undefined;
}

type Kept = { readonly endsAtMs: number } & (
  | { readonly addresses: readonly string[] }
  | { readonly failure: LookupFailed }
);

export function openHostResolver(options: ResolverOptions): HostResolver {
  const { clock, ipv6 } = options;
  const dns = new Resolver(QUERY);
  if (options.nameServers !== undefined) dns.setServers(options.nameServers);
  const hosts = readHostsFile(options.hostsFile ?? "/etc/hosts", ipv6);
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<readonly string[]>>();

  const keep = (name: string, answer: Kept) => {
    if (answer.endsAtMs <= clock.monotonicMs()) return;
    kept.delete(name);
    kept.set(name, answer);
    forgetOldest(kept, ANSWERS_KEPT_MAX);
  };
  const ask = async (name: string): Promise<readonly string[]> => {
    try {
      const { addresses, ttlMs } = await query(dns, clock, name, ipv6);
      keep(name, { addresses, endsAtMs: clock.monotonicMs() + Math.min(ttlMs, TTL_MS_MAX) });
      return addresses;
    } catch (error) {
      const failure = new LookupFailed("no address", { cause: error });
      if (NOTHING_THERE.includes((error as { code?: unknown }).code))
        keep(name, { failure, endsAtMs: clock.monotonicMs() + NOTHING_THERE_MS });
      throw failure;
    } finally {
      underWay.delete(name);
    }
  };
  return {
    async resolve(name) {
      const bare = withoutLastDots(name);
      if (bare === "localhost" || bare.endsWith(".localhost")) return ["127.0.0.1"];
      const local = hosts.get(bare);
      if (local !== undefined) return local;
      const known = kept.get(bare);
      if (known !== undefined && known.endsAtMs > clock.monotonicMs()) {
        if ("failure" in known) throw known.failure;
        return known.addresses;
      }
      let lookup = underWay.get(bare);
      if (lookup === undefined) {
        if (underWay.size >= LOOKUPS_MAX) throw new LookupFailed("too many lookups under way");
        lookup = ask(bare);
        underWay.set(bare, lookup);
      }
      return lookup;
    },
    close: () => dns.cancel(),
  };
}

type Answer = { readonly addresses: readonly string[]; readonly ttlMs: number };

async function query(dns: Resolver, clock: Clock, name: string, ipv6: boolean): Promise<Answer> {
  const ttl = { ttl: true } as const;
  const others = ipv6 ? Promise.allSettled([dns.resolve6(name, ttl)]) : null;
  const answers = await Promise.allSettled([dns.resolve4(name, ttl)]);
  if (others !== null) {
    const isThere = answers[0].status === "fulfilled";
    answers.push(...(isThere ? await soon(clock, others) : await others));
  }
  const records = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (records.length > ADDRESSES_MAX) throw new Error("too many addresses");
  const [failed] = answers.filter((answer) => answer.status === "rejected");
  if (records.length === 0) throw failed?.reason ?? new Error("an empty answer");
  return {
    addresses: records.map(({ address }) => address),
    ttlMs: Math.min(...records.map(({ ttl: seconds }) => seconds)) * 1_000,
  };
}

/** What comes later than that is nothing. */
async function soon<T>(clock: Clock, answers: Promise<T[]>): Promise<T[]> {
  const { promise, resolve } = Promise.withResolvers<T[]>();
  const cancelTimer = clock.setTimer(IPV6_MS, () => resolve([]));
  try {
    return await Promise.race([answers, promise]);
  } finally {
    cancelTimer();
  }
}

/** Addresses by name. A file that is not there has no names. */
function readHostsFile(path: string, ipv6: boolean): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of readText(path).split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const parsed = parseAddress(address);
    if (parsed === null || (parsed.bits === 128 && !ipv6)) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), address]);
    }
  }
  return hosts;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

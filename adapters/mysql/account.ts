/**
 * The account with which pools connect, where it is rotated while they are open: fetched when the first connection is made, and
 * again once when the server refuses it. Connections that are open stay; the password of a session is never asked for again.
 */
import type { DatabaseAccount, FetchAccount } from "#core/ports/database-account.ts";
import type { Logger } from "#core/ports/logger.ts";

export interface RotatingAccount {
  current(): Promise<DatabaseAccount>;
  /** What to try after `account` was refused: the same one when nothing else is known yet. */
  after(account: DatabaseAccount): Promise<DatabaseAccount>;
}

/** The server may refuse every connection for a while: it is not asked for each of them where the account is kept. */
const ASKED_AGAIN_MS = 1_000;

/** One for all pools of a process. */
export function openRotatingAccount(fetch: FetchAccount, logger: Logger | null): RotatingAccount {
  let known: DatabaseAccount | null = null;
  let fetchedAtMs = Number.NEGATIVE_INFINITY;
  let asked: Promise<DatabaseAccount> | null = null;
  const ask = (): Promise<DatabaseAccount> => {
    asked ??= fetch()
      .then((account) => {
        fetchedAtMs = performance.now();
        // Who holds the same account should not take it for another one.
        if (known === null || !isSame(known, account)) known = account;
        return known;
      })
      .finally(() => {
        asked = null;
      });
    return asked;
  };
  return {
    async current() {
      return known ?? ask();
    },
    async after(account) {
      if (known !== null && known !== account) return known;
      if (asked === null && performance.now() - fetchedAtMs < ASKED_AGAIN_MS) return account;
      const next = await ask();
      if (next !== account)
        logger?.warn("MySQL refused the account: it was rotated, going on with the new one");
      return next;
    },
  };
}

function isSame(a: DatabaseAccount, b: DatabaseAccount): boolean {
  return a.user === b.user && a.password.reveal() === b.password.reveal();
}

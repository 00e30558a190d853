import type { Secret } from "#core/domain/secret.ts";

/** With what a database lets us in. */
export interface DatabaseAccount {
  readonly user: string;
  readonly password: Secret;
}

/** Fetches the account as it is now from where it is kept and rotated. Throws StoreUnavailable. */
export type FetchAccount = () => Promise<DatabaseAccount>;

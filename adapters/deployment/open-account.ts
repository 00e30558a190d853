import { openRotatingAccount, type RotatingAccount } from "#adapters/mysql/account.ts";
import type { ControlStoreOptions } from "#adapters/mysql/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";

/** What this deployment's stores are opened with. */
export async function mysqlOf(
  env: {
    readonly MYSQL_URL: string;
    readonly MYSQL_SECRET_ARN: string;
    readonly DATABASE_PREFIX: string;
  },
  logger: Logger,
): Promise<ControlStoreOptions> {
  const account = await openAccount(env, logger);
  return { mysqlUrl: env.MYSQL_URL, account, databasePrefix: env.DATABASE_PREFIX, logger };
}

/** Where the database's account is a secret that is rotated; null where it stands in MYSQL_URL. */
export async function openAccount(
  { MYSQL_SECRET_ARN: secretId }: { readonly MYSQL_SECRET_ARN: string },
  logger: Logger | null,
): Promise<RotatingAccount | null> {
  if (secretId === "") return null;
  const { openAccountSecret } = await import("#adapters/aws/database-account.ts");
  return openRotatingAccount(openAccountSecret({ secretId }), logger);
}

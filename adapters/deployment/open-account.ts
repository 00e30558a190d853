import { openRotatingAccount, type RotatingAccount } from "#adapters/mysql/account.ts";
import type { Logger } from "#core/ports/logger.ts";

/** Where the database's account is a secret that is rotated; null where it stands in MYSQL_URL. */
export async function openAccount(
  { MYSQL_SECRET_ARN: secretId }: { readonly MYSQL_SECRET_ARN: string },
  logger: Logger | null,
): Promise<RotatingAccount | null> {
  if (secretId === "") return null;
  const { openAccountSecret } = await import("#adapters/aws/database-account.ts");
  return openRotatingAccount(openAccountSecret({ secretId }), logger);
}

/** The account of MySQL in AWS: a secret of Secrets Manager, which rotates it while we run. */
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { Secret } from "#core/domain/secret.ts";
import type { DatabaseAccount, FetchAccount } from "#core/ports/database-account.ts";
import { type ClientOptions, clientSettings } from "./client-settings.ts";

export interface AccountSecretOptions extends ClientOptions {
  /** ARN or name. */
  readonly secretId: string;
}

const ATTEMPTS_MAX = 2;

/** Fetches the account as it is now, each time it is asked. Throws StoreUnavailable. */
export function openAccountSecret({ secretId, ...options }: AccountSecretOptions): FetchAccount {
  const manager = new SecretsManagerClient(clientSettings(options, ATTEMPTS_MAX));
  return async () => {
    const command = new GetSecretValueCommand({ SecretId: secretId });
    let text: string | undefined;
    try {
      text = (await manager.send(command)).SecretString;
    } catch (error) {
      const name = error instanceof Error ? error.name : "unknown";
      throw new StoreUnavailable(`Secrets Manager does not give the database's account: ${name}`, {
        cause: error,
      });
    }
    const account = readAccount(text ?? "");
    if (account === null)
      throw new StoreUnavailable("the database's secret has no username and password");
    return account;
  };
}

/** RDS writes `{"username": …, "password": …}`, with or without more. */
function readAccount(text: string): DatabaseAccount | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const { username, password } = (parsed ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof username !== "string" || typeof password !== "string") return null;
  return { user: username, password: new Secret(password) };
}

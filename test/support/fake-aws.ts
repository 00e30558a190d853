/** KMS and Secrets Manager as far as we use them, for processes of ours that run as they do in AWS. */
import { randomBytes } from "node:crypto";
import { type AwsEndpoint, openAwsEndpoint } from "./aws-endpoint.ts";

export interface FakeAws extends AsyncDisposable {
  /** Where a process finds it, and with what. */
  readonly env: Readonly<Record<string, string>>;
  /** By the secret's name: the account that it has now. */
  readonly accounts: Map<string, { readonly username: string; readonly password: string }>;
  /** How often an operation was asked for. */
  count(operation: "Decrypt" | "GenerateDataKey" | "GetSecretValue"): number;
}

type Json = Readonly<Record<string, unknown>>;

export async function openFakeAws(): Promise<FakeAws> {
  const accounts: FakeAws["accounts"] = new Map();
  const dataKeys = new Map<string, { plain: string; context: string }>();
  const answers: Readonly<Record<string, (input: Json) => Json | null>> = {
    GenerateDataKey: ({ EncryptionContext }) => {
      const [plain, blob] = [32, 184].map((length) => randomBytes(length).toString("base64"));
      if (plain === undefined || blob === undefined) return null;
      dataKeys.set(blob, { plain, context: JSON.stringify(EncryptionContext) });
      return { Plaintext: plain, CiphertextBlob: blob, KeyId: "k" };
    },
    Decrypt: ({ CiphertextBlob, EncryptionContext }) => {
      const found = dataKeys.get(String(CiphertextBlob));
      const fits = found?.context === JSON.stringify(EncryptionContext);
      return found !== undefined && fits ? { Plaintext: found.plain, KeyId: "k" } : null;
    },
    GetSecretValue: ({ SecretId }) => {
      const account = accounts.get(String(SecretId));
      return account === undefined ? null : { SecretString: JSON.stringify(account) };
    },
  };
  const endpoint: AwsEndpoint = await openAwsEndpoint((operation, input) => {
    const body = answers[operation]?.(input) ?? null;
    return body === null
      ? { status: 400, body: { __type: "InvalidCiphertextException" } }
      : { body };
  });
  const { client } = endpoint;
  return {
    env: {
      AWS_ENDPOINT_URL: client.endpoint,
      AWS_REGION: client.region,
      AWS_ACCESS_KEY_ID: client.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: client.credentials.secretAccessKey,
      SECRETS_KMS_KEY: "alias/at-and-cron",
      SECRETS_KEY_FILE: "",
    },
    accounts,
    count: (operation) => endpoint.asked.filter((asked) => asked === operation).length,
    [Symbol.asyncDispose]: () => endpoint[Symbol.asyncDispose](),
  };
}

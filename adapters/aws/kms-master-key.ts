/**
 * The master key in AWS: a symmetric key of KMS, which never leaves it. A data key is bound to its tenant and purpose by the
 * encryption context, so that a role's right to unwrap can be limited to one purpose (`kms:EncryptionContext:purpose`).
 */
import {
  DecryptCommand,
  GenerateDataKeyCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
  type KMSClientConfig,
} from "@aws-sdk/client-kms";
import type { KeyContext, MasterKey } from "#core/ports/secrets.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";

export interface KmsOptions {
  /** Id, ARN or alias of the key. */
  readonly keyId: string;
  /** How long it may take to answer once, ms; asked again then. */
  readonly requestMs?: number;
  /** Of tests: endpoint and credentials. */
  readonly client?: Pick<KMSClientConfig, "endpoint" | "credentials" | "region">;
}

const CONNECT_MS = 1_000;
const REQUEST_MS = 3_000;
const ATTEMPTS_MAX = 3;

export function openKmsMasterKey({
  keyId,
  client = {},
  requestMs = REQUEST_MS,
}: KmsOptions): MasterKey {
  const kms = new KMSClient({
    ...client,
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: requestMs,
      // Without it a request that takes longer is only logged.
      throwOnRequestTimeout: true,
    },
  });
  return {
    async generate(context) {
      const command = new GenerateDataKeyCommand({
        KeyId: keyId,
        KeySpec: "AES_256",
        EncryptionContext: contextOf(context),
      });
      const { Plaintext, CiphertextBlob } = await kms.send(command).catch(throwUnavailable);
      if (Plaintext === undefined || CiphertextBlob === undefined)
        throw new SecretsUnavailable("KMS answered without a data key");
      return { plain: Plaintext, wrapped: CiphertextBlob };
    },
    async unwrap(wrapped, context) {
      const command = new DecryptCommand({
        KeyId: keyId,
        CiphertextBlob: wrapped,
        EncryptionContext: contextOf(context),
      });
      try {
        return (await kms.send(command)).Plaintext ?? null;
      } catch (error) {
        if (error instanceof InvalidCiphertextException || error instanceof IncorrectKeyException)
          return null;
        return throwUnavailable(error);
      }
    },
  };
}

function contextOf({ tenantId, purpose }: KeyContext): Record<string, string> {
  return { tenant: tenantId, purpose };
}

/** Only its name is said: messages of KMS carry ARNs. */
function throwUnavailable(error: unknown): never {
  const name = error instanceof Error ? error.name : "unknown";
  throw new SecretsUnavailable(`KMS does not serve: ${name}`, { cause: error });
}

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
} from "@aws-sdk/client-kms";
import type { KeyContext, MasterKey } from "#core/ports/secrets.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import { type ClientOptions, clientSettings } from "./client-settings.ts";

export interface KmsOptions extends ClientOptions {
  /** Id, ARN or alias of the key. */
  readonly keyId: string;
}

const ATTEMPTS_MAX = 3;

export function openKmsMasterKey({ keyId, ...options }: KmsOptions): MasterKey {
  const kms = new KMSClient(clientSettings(options, ATTEMPTS_MAX));
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

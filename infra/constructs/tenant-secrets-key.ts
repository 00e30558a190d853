/** The master key of the tenants' secrets (docs/security.md): APIs can seal with it, executors can open. */
import { RemovalPolicy } from "aws-cdk-lib";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import type { SecretsKey } from "./connections.ts";

export class TenantSecretsKey extends Construct implements SecretsKey {
  readonly environment: SecretsKey["environment"];
  readonly #key: Key;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.#key = new Key(this, "Key", {
      description: "Wraps the data keys of tenants' secrets: without it they are lost",
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    this.environment = { SECRETS_KEY_FILE: "", SECRETS_KMS_KEY: this.#key.keyArn };
  }

  grantSeal(grantee: IGrantable): void {
    this.#allow(grantee, "kms:GenerateDataKey");
    this.#allow(grantee, "kms:Decrypt", {
      StringEquals: { "kms:EncryptionContext:purpose": "fingerprint" },
    });
  }

  grantOpen(grantee: IGrantable): void {
    this.#allow(grantee, "kms:GenerateDataKey");
    this.#allow(grantee, "kms:Decrypt");
  }

  /** The key's own policy leaves it to those of the account's roles. */
  #allow(grantee: IGrantable, action: string, conditions: Record<string, unknown> = {}): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        effect: Effect.ALLOW,
        actions: [action],
        resources: [this.#key.keyArn],
        conditions,
      }),
    );
  }
}

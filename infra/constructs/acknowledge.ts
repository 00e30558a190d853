/** Rules of cdk-nag, and of the CDK itself, that a resource does not follow, each with why: what a reviewer accepts or not. */
import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/**
 * `reasons` by rule, as the check prints it: `AwsSolutions-RDS11`, `AwsSolutions-IAM5[Resource::*]`, `CloudFormation-Validate::W3010`.
 * For `scope` and what is in it.
 */
export function acknowledge(scope: IConstruct, reasons: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(reasons))
    Validations.of(scope).acknowledge({ id, reason });
}

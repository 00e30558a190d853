import type { ControlStore } from "#core/ports/control-store.ts";
import { normalizePrincipalArn } from "./principal-arn.ts";

export type Unmapped =
  | { readonly kind: "unmapped"; readonly arn: string }
  | { readonly kind: "not-mapped" }
  | { readonly kind: "not-an-arn" };

/** Takes an IAM principal's tenant away. `arn` is untrusted. */
export async function unmapPrincipal(
  { control }: { readonly control: ControlStore },
  text: string,
): Promise<Unmapped> {
  const arn = normalizePrincipalArn(text);
  if (arn === null) return { kind: "not-an-arn" };
  return (await control.unmapPrincipal(arn)) ? { kind: "unmapped", arn } : { kind: "not-mapped" };
}

import type { Scope } from "#core/ports/control-store.ts";
import { SCOPES } from "#core/ports/control-store.ts";

/** Reads untrusted text such as `write,read` as scopes in the order of SCOPES, each once; null when a part is none, or there is none. */
export function readScopes(text: string): Scope[] | null {
  const parts = text.split(",").map((part) => part.trim());
  const known: readonly string[] = SCOPES;
  if (parts.some((part) => !known.includes(part))) return null;
  return SCOPES.filter((scope) => parts.includes(scope));
}

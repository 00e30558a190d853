/** What becomes of a task's secrets when it is turned into `wanted`. Pure: the store may call it again. */

import { assert } from "#core/domain/assert.ts";
import type { FieldProblem } from "#core/domain/field-problem.ts";
import { HEADER_BYTES_MAX, SEALED_HEADERS_BYTES_MAX } from "#core/domain/limits.ts";
import {
  AUTH_SECRET,
  changeMarks,
  type SealedSecret,
  type SecretMark,
  type SecretsChange,
  shownFingerprint,
} from "#core/domain/task-secrets.ts";
import type { SecretSettings } from "./task-settings.ts";

const TOO_MANY_BYTES: FieldProblem = {
  field: "request.secretHeaders",
  message: `must have at most ${HEADER_BYTES_MAX} bytes, with those that are kept`,
};

const SURROUNDINGS_CHANGED = "give the secret itself: its surroundings have changed";
const ORIGIN_CHANGED =
  "give the secret itself, or take it away: request.url has another scheme, host or port than the one it was given for";

export type SecretsDecision =
  /** Null: they stay as they are. */
  | { readonly kind: "decided"; readonly change: SecretsChange | null }
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] };

interface SecretsEdit {
  readonly marks: readonly SecretMark[];
  readonly wanted: SecretSettings;
  /** Those of `wanted` that are set. */
  readonly sealed: readonly SealedSecret[];
  /** Whether what may be shown of the credential is another: it is sealed with its secret. */
  readonly newAuth: boolean;
  /** Whether calls go to another origin: who may write a task, and read no secret, must not send one to a host of his own. */
  readonly newOrigin: boolean;
}

export function decideSecrets(edit: SecretsEdit): SecretsDecision {
  const { marks, wanted, sealed, newAuth, newOrigin } = edit;
  const problems: FieldProblem[] = [];
  const set: SealedSecret[] = [];
  for (const [name, setting] of Object.entries(wanted)) {
    const mark = marks.find((one) => one.name === name);
    const changed = name === AUTH_SECRET && newAuth;
    if (setting.kind === "keep") {
      const { field, fingerprint } = setting;
      if (mark === undefined || shownFingerprint(mark) !== fingerprint)
        problems.push({ field, message: "is not the fingerprint of the secret that is there" });
      else if (newOrigin) problems.push({ field, message: ORIGIN_CHANGED });
      else if (changed) problems.push({ field, message: SURROUNDINGS_CHANGED });
      continue;
    }
    const fresh = sealed.find((one) => one.name === name);
    assert(fresh !== undefined, "what is set has been sealed");
    if (changed || mark?.fingerprint !== fresh.fingerprint) set.push(fresh);
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  const remove = marks.map(({ name }) => name).filter((name) => !Object.hasOwn(wanted, name));
  const headers = changeMarks(marks, { set, remove }).filter(({ name }) => name !== AUTH_SECRET);
  const bytes = headers.reduce((sum, header) => sum + header.bytes, 0);
  if (bytes > SEALED_HEADERS_BYTES_MAX) return { kind: "invalid", problems: [TOO_MANY_BYTES] };
  return { kind: "decided", change: set.length + remove.length === 0 ? null : { set, remove } };
}

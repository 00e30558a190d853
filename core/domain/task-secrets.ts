/**
 * The secrets of a task. They are no part of its versions, which only name them: a job sends what a secret is when it is sent,
 * not what it was when the job was made. Each is sealed for its tenant, its task and its name.
 *
 * All are for the origin (scheme, host, port) that the task's newest version calls: an edit that changes it takes them given anew. Calls
 * of earlier versions to another origin get none of them.
 */

/** Names a task's credential. */
export const AUTH_SECRET = "auth";
const HEADER_PREFIX = "header:";

/** Names the value of a header. Header names meet whatever their case. */
export function headerSecret(headerName: string): string {
  return HEADER_PREFIX + headerName.toLowerCase();
}

/** What may be known of a secret without opening it. */
export interface SecretMark {
  readonly name: string;
  /** 64 hex digits, keyed per tenant: says whether two values of one tenant are the same, and nothing else. */
  readonly fingerprint: string;
  /** As it is sealed. */
  readonly bytes: number;
}

/** A secret as it is stored. */
export interface SealedSecret {
  readonly name: string;
  readonly fingerprint: string;
  readonly sealed: Uint8Array;
}

/** A secret as an executor gets it. */
export interface StoredSecret extends Omit<SealedSecret, "fingerprint"> {
  /** The newest of its task, at the same moment. */
  readonly requestVersion: number;
}

/** What an edit does to the secrets of its task; those that it names in neither stay. */
export interface SecretsChange {
  readonly set: readonly SealedSecret[];
  /** Names; one that there is not is no error. */
  readonly remove: readonly string[];
}

const SHOWN_DIGITS = 8;

/** What callers see of a fingerprint. */
export function shownFingerprint({ fingerprint }: Pick<SecretMark, "fingerprint">): string {
  return fingerprint.slice(0, SHOWN_DIGITS);
}

/** The marks after a change, by name. */
export function changeMarks(
  marks: readonly SecretMark[],
  { set, remove }: SecretsChange,
): SecretMark[] {
  const after = new Map(marks.map((mark) => [mark.name, mark]));
  for (const name of remove) after.delete(name);
  for (const { name, fingerprint, sealed } of set)
    after.set(name, { name, fingerprint, bytes: sealed.length });
  return [...after.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

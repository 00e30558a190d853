/** What a target answers is kept and shown. A target that repeats what it was sent must not make secrets readable by it. */

const HIDDEN = "[secret]";
/** Shorter ones would hide half of an answer, and are no secrets. */
const LENGTH_MIN = 4;

/** `text` without any of `sent`, also where one was cut at the end of the text. */
export function hideSecrets(text: string, sent: readonly string[]): string {
  let hidden = text;
  // The longest first: one may contain another.
  const secrets = sent
    .filter(({ length }) => length >= LENGTH_MIN)
    .sort((a, b) => b.length - a.length);
  for (const secret of secrets) {
    hidden = hidden.replaceAll(secret, HIDDEN);
    // As JSON has it between its quotes.
    const escaped = JSON.stringify(secret).slice(1, -1);
    if (escaped !== secret) hidden = hidden.replaceAll(escaped, HIDDEN);
  }
  for (const secret of secrets) {
    const cut = cutAtEnd(hidden, secret);
    if (cut > 0) return hidden.slice(0, -cut) + HIDDEN;
  }
  return hidden;
}

/** How many characters of the beginning of `secret` stand at the end of `text`. */
function cutAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= LENGTH_MIN; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

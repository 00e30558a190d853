/** A host name without the dots at its end: with and without them it is the same host's. Addresses have none. */
export function withoutLastDots(name: string): string {
  let end = name.length;
  // No pattern: many dots within a name would be looked at over and over.
  while (name[end - 1] === ".") end--;
  return name.slice(0, end);
}

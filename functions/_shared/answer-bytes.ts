/** What JSON text takes in an answer: Lambda takes the body as a text inside of JSON, where each quote and backslash is one byte more. */
export function bytesInAnswer(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

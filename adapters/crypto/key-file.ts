/**
 * The master key of one machine: a file that only its owner may read. Its first line wraps; further lines only unwrap: a new
 * line is put first, and the old ones stay, as data keys are not wrapped anew.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { KeyContext, MasterKey } from "#core/ports/secrets.ts";

const PREFIX = "at-and-cron-master-key-1:";
const KEY_BYTES = 32;
const ID_BYTES = 8;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const LINES_MAX = 16;
const CIPHER = "aes-256-gcm";

/** Writes a new key file, readable by its owner only. Leaves one that is there as it is. */
export function makeKeyFile(path: string): void {
  const line = `${PREFIX}${randomBytes(KEY_BYTES).toString("base64")}\n`;
  try {
    writeFileSync(path, line, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Throws ConfigurationInvalid, which names the file and never what is in it. */
export function readKeyFile(path: string): MasterKey {
  return masterKeyOf(linesOf(path).map((line) => keyOf(line, path)));
}

/** A master key in memory: the first key wraps, all unwrap. */
export function masterKeyOf(keys: readonly Uint8Array[]): MasterKey {
  const byId = new Map(keys.map((key) => [idOf(key).toString("hex"), key]));
  const [current] = keys;
  if (current === undefined) throw new ConfigurationInvalid("a master key has at least one key");
  return {
    async generate(context) {
      const plain = randomBytes(KEY_BYTES);
      return { plain, wrapped: wrap(current, plain, context) };
    },
    async unwrap(wrapped, context) {
      const key = byId.get(Buffer.from(wrapped.subarray(0, ID_BYTES)).toString("hex"));
      return key === undefined ? null : unwrap(key, wrapped, context);
    },
  };
}

function linesOf(path: string): string[] {
  const refuse = (what: string, cause?: unknown): never => {
    throw new ConfigurationInvalid(`configuration: SECRETS_KEY_FILE ${path} ${what}`, { cause });
  };
  let text: string;
  try {
    const file = openSync(path, "r");
    try {
      const { mode } = fstatSync(file);
      if ((mode & 0o077) !== 0) refuse("can be read by others: chmod 600 it");
      text = readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      return refuse("is not there: without it no secret can be opened; bring it back", error);
    if (error instanceof ConfigurationInvalid) throw error;
    return refuse(`cannot be read (${code ?? "unknown"})`, error);
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0 || lines.length > LINES_MAX) refuse("has no key, or too many");
  return lines;
}

function keyOf(line: string, path: string): Buffer {
  const key = Buffer.from(line.trim().slice(PREFIX.length), "base64");
  if (line.startsWith(PREFIX) && key.length === KEY_BYTES) return key;
  throw new ConfigurationInvalid(
    `configuration: SECRETS_KEY_FILE ${path} has a line that is not ${PREFIX} and ${KEY_BYTES} bytes in base64`,
  );
}

/** Tells keys apart, and nothing about them. */
function idOf(key: Uint8Array): Buffer {
  return createHash("sha256")
    .update("at-and-cron/master-key-id")
    .update(key)
    .digest()
    .subarray(0, ID_BYTES);
}

/** Id of the key, initialisation vector, ciphertext, tag. */
function wrap(key: Uint8Array, plain: Uint8Array, context: KeyContext): Uint8Array {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(context));
  const wrapped = [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([idOf(key), iv, ...wrapped]);
}

function unwrap(key: Uint8Array, wrapped: Uint8Array, context: KeyContext): Uint8Array | null {
  if (wrapped.length !== ID_BYTES + IV_BYTES + KEY_BYTES + TAG_BYTES) return null;
  const iv = wrapped.subarray(ID_BYTES, ID_BYTES + IV_BYTES);
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(context));
  decipher.setAuthTag(wrapped.subarray(wrapped.length - TAG_BYTES));
  try {
    const text = wrapped.subarray(ID_BYTES + IV_BYTES, wrapped.length - TAG_BYTES);
    return Buffer.concat([decipher.update(text), decipher.final()]);
  } catch {
    return null;
  }
}

function boundTo({ tenantId, purpose }: KeyContext): Buffer {
  return Buffer.from(JSON.stringify(["at-and-cron/data-key", tenantId, purpose]));
}

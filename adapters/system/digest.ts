import { createHash } from "node:crypto";
import type { Digest } from "#core/ports/digest.ts";

export const systemDigest: Digest = {
  sha256Hex: (text) => createHash("sha256").update(text).digest("hex"),
};

import { createHash } from "node:crypto";
import type { Digest } from "#core/ports/digest.ts";

export const systemDigest: Digest = {
  sha256Hex: (data) => createHash("sha256").update(data).digest("hex"),
};

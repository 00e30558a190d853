/**
 * What a request keeps secret: header values and a credential. Written, never read: they are answered with a fingerprint, and one
 * that is written back says that the secret stays what it is.
 */
import { z } from "zod";
import {
  HEADER_BYTES_MAX,
  HEADERS_MAX,
  SECRET_BYTES_MAX,
  SECRET_HEADER_NAME_LENGTH_MAX,
} from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import {
  type Credential,
  secretOfCredential,
  shownAuth,
  type TargetAuth,
  writeCredential,
} from "#core/domain/target-auth.ts";
import { AUTH_SECRET, headerSecret } from "#core/domain/task-secrets.ts";
import type { SecretSetting, SecretSettings } from "#core/services/tasks/task-settings.ts";
import {
  faultOfHeader,
  HEADER_NAME,
  headerRecord,
  PATCHED_HEADERS_MAX,
  url,
} from "./http-fields.ts";

const CLIENT_LENGTH_MAX = 1_000;
const SCOPE_LENGTH_MAX = 2_000;
/** Characters of a bearer token, as a header may carry them. */
const TOKEN = /^[\x21-\x7e]+$/;

const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{8}$/, "is not a fingerprint")
  .describe("As it was answered: the secret stays what it is.");
const kept = z.strictObject({ fingerprint });
type Kept = z.infer<typeof kept>;

const secretValue = z.union([z.string(), kept], {
  error: 'must be the secret as text, or {"fingerprint": …} as it was answered',
});

export const secretHeaders = headerRecord(secretValue, HEADERS_MAX)
  .superRefine((all, ctx) => {
    const seen = new Set<string>();
    for (const [name, value] of Object.entries(all)) {
      const message =
        name.length > SECRET_HEADER_NAME_LENGTH_MAX
          ? `must have at most ${SECRET_HEADER_NAME_LENGTH_MAX} characters`
          : faultOfHeader(name, typeof value === "string" ? value : "", seen);
      if (message !== null) ctx.addIssue({ code: "custom", path: [name], message });
      seen.add(name.toLowerCase());
    }
  })
  .describe(
    "Headers whose values nobody can read again. Sent beside `headers`, and only to the origin of `url` that they were given for.",
  )
  .meta({
    propertyNames: { pattern: HEADER_NAME.source, maxLength: SECRET_HEADER_NAME_LENGTH_MAX },
  });

/** In a merge patch null takes a secret away. All that it sets are sealed before anything else is known of its task. */
export const secretHeadersPatch = headerRecord(secretValue.nullable(), PATCHED_HEADERS_MAX);

const secretText = z
  .string()
  .min(1)
  .superRefine((text, ctx) => {
    const message = faultOfSecret(text);
    if (message !== null) ctx.addIssue({ code: "custom", message });
  });

function faultOfSecret(text: string): string | null {
  if (!text.isWellFormed()) return "is not valid Unicode";
  if (/\p{Cc}/u.test(text)) return "must not contain control characters";
  return Buffer.byteLength(text) <= SECRET_BYTES_MAX
    ? null
    : `must have at most ${SECRET_BYTES_MAX} bytes`;
}

const line = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .refine((text) => faultOfSecret(text) === null, "must not contain control characters");

/** Of each kind: the secret, or the fingerprint that it was answered with. */
const bearer = z.strictObject({
  type: z.literal("bearer"),
  token: secretText.regex(TOKEN, "must be visible ASCII characters").optional(),
  fingerprint: fingerprint.optional(),
});
const basic = z.strictObject({
  type: z.literal("basic"),
  username: line(CLIENT_LENGTH_MAX).regex(/^[^:]*$/, "must not contain a colon"),
  password: secretText.optional(),
  fingerprint: fingerprint.optional(),
});
const oauth2 = z
  .strictObject({
    type: z.literal("oauth2"),
    tokenUrl: url,
    clientId: line(CLIENT_LENGTH_MAX),
    clientSecret: secretText.optional(),
    scope: line(SCOPE_LENGTH_MAX).nullable().default(null),
    fingerprint: fingerprint.optional(),
  })
  .describe(
    "Client credentials: the token is fetched when it is needed and kept until it expires.",
  );

const SECRET_FIELD = { bearer: "token", basic: "password", oauth2: "clientSecret" } as const;

/** Replaced as a whole, also by a patch. */
export const auth = z
  .discriminatedUnion("type", [bearer, basic, oauth2])
  .superRefine((given, ctx) => {
    const field = SECRET_FIELD[given.type];
    const secret = secretOf(given);
    if (secret === undefined && given.fingerprint === undefined)
      ctx.addIssue({ code: "custom", path: [field], message: "is required" });
    if (secret !== undefined && given.fingerprint !== undefined)
      ctx.addIssue({
        code: "custom",
        path: ["fingerprint"],
        message: `cannot stand beside ${field}: give one of them`,
      });
  })
  .describe(
    "How the call says who it is, in `Authorization`, to the origin of `url` that it was given for only. The secret is never answered, only its fingerprint.",
  );

type Auth = z.infer<typeof auth>;

function secretOf(given: Auth): string | undefined {
  switch (given.type) {
    case "bearer":
      return given.token;
    case "basic":
      return given.password;
    case "oauth2":
      return given.clientSecret;
  }
}

interface GivenSecrets {
  readonly secretHeaders?: Readonly<Record<string, string | Kept | null>> | null | undefined;
  readonly auth?: Auth | null | undefined;
}

/** Headers altogether: names once, and within the bounds of all headers. */
export function refuseHeaderClashes(
  request: GivenSecrets & { readonly headers: Readonly<Record<string, string>> },
  ctx: z.RefinementCtx,
): void {
  const plain = Object.entries(request.headers);
  const secret = Object.entries(request.secretHeaders ?? {});
  const names = new Set(plain.map(([name]) => name.toLowerCase()));
  for (const [name] of secret) {
    if (!names.has(name.toLowerCase())) continue;
    const message = "is given in headers too (the case of a name does not matter)";
    ctx.addIssue({ code: "custom", path: ["secretHeaders", name], message });
  }
  const authorization = [...plain, ...secret].some(
    ([name]) => name.toLowerCase() === "authorization",
  );
  if (request.auth && authorization) {
    const message = "cannot stand beside a header Authorization: give one of them";
    ctx.addIssue({ code: "custom", path: ["auth"], message });
  }
  if (secret.length === 0) return;
  const bytes = [...plain, ...secret].reduce(
    (sum, [name, value]) => sum + name.length + (typeof value === "string" ? value.length : 0),
    0,
  );
  if (plain.length + secret.length <= HEADERS_MAX && bytes <= HEADER_BYTES_MAX) return;
  const message = `with headers altogether at most ${HEADERS_MAX}, of ${HEADER_BYTES_MAX} bytes`;
  ctx.addIssue({ code: "custom", path: ["secretHeaders"], message });
}

/** What a version says of its secrets; nothing where there is none. */
export function namedSecrets({ secretHeaders: headers, auth: given }: GivenSecrets): {
  readonly secretHeaders?: readonly string[];
  readonly auth?: TargetAuth;
} {
  const names = Object.keys(headers ?? {}).sort((a, b) =>
    a.toLowerCase() < b.toLowerCase() ? -1 : 1,
  );
  return {
    ...(names.length === 0 ? {} : { secretHeaders: names }),
    ...(given ? { auth: shownAuth(credentialOf(given, new Secret(""))) } : {}),
  };
}

/** The secrets themselves; what a patch takes away is in none. */
export function secretsOf({ secretHeaders: headers, auth: given }: GivenSecrets): SecretSettings {
  const secrets: Record<string, SecretSetting> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const field = `request.secretHeaders.${name}`;
    if (typeof value === "string") {
      const text = new Secret(value);
      secrets[headerSecret(name)] = { kind: "set", text, fingerprinted: text };
    } else if (value !== null) {
      secrets[headerSecret(name)] = { kind: "keep", fingerprint: value.fingerprint, field };
    }
  }
  if (given) secrets[AUTH_SECRET] = authSetting(given);
  return secrets;
}

function authSetting(given: Auth): SecretSetting {
  const secret = secretOf(given);
  const field = "request.auth.fingerprint";
  if (secret === undefined) return { kind: "keep", fingerprint: given.fingerprint ?? "", field };
  const credential = credentialOf(given, new Secret(secret));
  const fingerprinted = secretOfCredential(credential);
  return { kind: "set", text: writeCredential(credential), fingerprinted };
}

function credentialOf(given: Auth, secret: Secret): Credential {
  switch (given.type) {
    case "bearer":
      return { type: "bearer", token: secret };
    case "basic":
      return { type: "basic", username: given.username, password: secret };
    case "oauth2": {
      const { type, tokenUrl, clientId, scope } = given;
      return { type, tokenUrl, clientId, clientSecret: secret, scope };
    }
  }
}

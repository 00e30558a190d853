/** How a call to a tenant's endpoint says who it is. A credential is sealed as a whole: what belongs together is rotated together. */
import { Secret } from "./secret.ts";

/** What may be shown of a credential. */
export type TargetAuth =
  | { readonly type: "bearer" }
  | { readonly type: "basic"; readonly username: string }
  | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      /** Null asks for what the client has by default. */
      readonly scope: string | null;
    };

export type Credential =
  | { readonly type: "bearer"; readonly token: Secret }
  | { readonly type: "basic"; readonly username: string; readonly password: Secret }
  /** OAuth 2.0 client credentials. */
  | {
      readonly type: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly scope: string | null;
    };

export function shownAuth(credential: Credential): TargetAuth {
  switch (credential.type) {
    case "bearer":
      return { type: "bearer" };
    case "basic":
      return { type: "basic", username: credential.username };
    case "oauth2": {
      const { type, tokenUrl, clientId, scope } = credential;
      return { type, tokenUrl, clientId, scope };
    }
  }
}

/** The part of a credential that is secret. */
export function secretOfCredential(credential: Credential): Secret {
  switch (credential.type) {
    case "bearer":
      return credential.token;
    case "basic":
      return credential.password;
    case "oauth2":
      return credential.clientSecret;
  }
}

/** The whole credential as the text that is sealed. */
export function writeCredential(credential: Credential): Secret {
  const secret = secretOfCredential(credential).reveal();
  return new Secret(JSON.stringify({ ...shownAuth(credential), secret }));
}

/** Reads what writeCredential wrote; null for any other text. */
export function readCredential(text: Secret): Credential | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.reveal());
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const fields = parsed as Readonly<Record<string, unknown>>;
  if (typeof fields.secret !== "string") return null;
  const secret = new Secret(fields.secret);
  switch (fields.type) {
    case "bearer":
      return { type: "bearer", token: secret };
    case "basic":
      return typeof fields.username === "string"
        ? { type: "basic", username: fields.username, password: secret }
        : null;
    case "oauth2":
      return readClient(fields, secret);
    default:
      return null;
  }
}

function readClient(
  { tokenUrl, clientId, scope }: Readonly<Record<string, unknown>>,
  clientSecret: Secret,
): Credential | null {
  if (typeof tokenUrl !== "string" || typeof clientId !== "string") return null;
  if (scope !== null && typeof scope !== "string") return null;
  return { type: "oauth2", tokenUrl, clientId, clientSecret, scope };
}

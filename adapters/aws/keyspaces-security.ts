/**
 * Signature Version 4 for Amazon Keyspaces, as an authenticator of cassandra-driver, with the TLS that the service asks for. The
 * server sends a nonce; the answer is a signature over it, made from whatever credentials are valid at that moment.
 */
import { createHash, createHmac } from "node:crypto";
import { auth } from "cassandra-driver";

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface KeyspacesOptions {
  readonly region: string;
  /** Name of the service's endpoint, which its certificate bears: `cassandra.eu-west-1.amazonaws.com`. */
  readonly host: string;
  /** Asked on every new connection. */
  readonly credentials: () => Promise<AwsCredentials>;
}

const EXPIRES_SECONDS = 900;
const MECHANISM = Buffer.from("SigV4\0\0");

/** What to pass as `security` to the Cassandra adapter. */
export function keyspacesSecurity({ region, host, credentials }: KeyspacesOptions) {
  return {
    authProvider: new SigV4Provider(region, credentials) as auth.AuthProvider,
    // Nodes are dialled by address: the certificate is checked against the endpoint's name.
    sslOptions: { servername: host, rejectUnauthorized: true },
  };
}

/** The response to a challenge. Tested with the vector that AWS publishes. */
export function signChallenge(
  region: string,
  nonce: string,
  date: Date,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
): string {
  const instant = date.toISOString();
  const day = instant.slice(0, 10).replaceAll("-", "");
  const scope = `${day}/${region}/cassandra/aws4_request`;
  const query = [
    "X-Amz-Algorithm=AWS4-HMAC-SHA256",
    `X-Amz-Credential=${accessKeyId}%2F${encodeURIComponent(scope)}`,
    `X-Amz-Date=${encodeURIComponent(instant)}`,
    `X-Amz-Expires=${EXPIRES_SECONDS}`,
  ]
    .sort()
    .join("&");
  const request = `PUT\n/authenticate\n${query}\nhost:cassandra\n\nhost\n${sha256(nonce)}`;
  const text = `AWS4-HMAC-SHA256\n${instant}\n${scope}\n${sha256(request)}`;
  const key = [day, region, "cassandra", "aws4_request"].reduce<string | Buffer>(
    (previous, part) => hmac(previous, part),
    `AWS4${secretAccessKey}`,
  );
  const signature = hmac(key, text).toString("hex");
  const token = sessionToken === undefined ? "" : `,session_token=${sessionToken}`;
  return `signature=${signature},access_key=${accessKeyId},amzdate=${instant}${token}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

// The driver wants instances of these two classes, which its types describe as interfaces.
const { AuthProvider, Authenticator } = auth as unknown as {
  AuthProvider: new () => object;
  Authenticator: new () => object;
};

type Done = (error: Error | null, answer?: Buffer) => void;

class SigV4Provider extends AuthProvider {
  readonly #region: string;
  readonly #credentials: () => Promise<AwsCredentials>;

  constructor(region: string, credentials: () => Promise<AwsCredentials>) {
    super();
    this.#region = region;
    this.#credentials = credentials;
  }

  newAuthenticator(): object {
    return new SigV4Authenticator(this.#region, this.#credentials);
  }
}

class SigV4Authenticator extends Authenticator {
  readonly #region: string;
  readonly #credentials: () => Promise<AwsCredentials>;

  constructor(region: string, credentials: () => Promise<AwsCredentials>) {
    super();
    this.#region = region;
    this.#credentials = credentials;
  }

  initialResponse(done: Done): void {
    done(null, MECHANISM);
  }

  evaluateChallenge(challenge: Buffer, done: Done): void {
    const nonce = /nonce=([^,]*)/.exec(challenge.toString())?.[1];
    if (!nonce) {
      done(new Error("the challenge has no nonce"));
      return;
    }
    this.#credentials()
      .then((credentials) =>
        Buffer.from(signChallenge(this.#region, nonce, new Date(), credentials)),
      )
      .then(
        (answer) => done(null, answer),
        (cause) => done(new Error("no AWS credentials to sign with", { cause })),
      );
  }
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "cassandra-driver";
import { keyspacesSecurity, signChallenge } from "./keyspaces-security.ts";

// https://docs.aws.amazon.com/keyspaces/latest/devguide/programmatic.credentials.html and its plug-ins' tests
const VECTOR = {
  nonce: "91703fdc2ef562e19fbdab0f58e42fe5",
  date: new Date(1_591_742_511_000),
  credentials: { accessKeyId: "UserID-1", secretAccessKey: "UserSecretKey-1" },
  answer:
    "signature=7f3691c18a81b8ce7457699effbfae5b09b4e0714ab38c1292dbdf082c9ddd87,access_key=UserID-1,amzdate=2020-06-09T22:41:51.000Z",
};

type Authenticator = {
  initialResponse(done: (error: Error | null, answer?: Buffer) => void): void;
  evaluateChallenge(challenge: Buffer, done: (error: Error | null, answer?: Buffer) => void): void;
};

function authenticator(credentials: typeof VECTOR.credentials | Error): Authenticator {
  const { authProvider } = keyspacesSecurity({
    region: "us-west-2",
    host: "cassandra.us-west-2.amazonaws.com",
    credentials: async () => {
      if (credentials instanceof Error) throw credentials;
      return credentials;
    },
  });
  return authProvider.newAuthenticator("10.0.0.1:9142", "") as unknown as Authenticator;
}

function answerOf(to: Authenticator, challenge: string): Promise<string> {
  return new Promise((resolve, reject) => {
    to.evaluateChallenge(Buffer.from(challenge), (error, answer) =>
      error === null ? resolve(String(answer)) : reject(error),
    );
  });
}

test("a challenge is signed as AWS's published vector says", () => {
  assert.equal(
    signChallenge("us-west-2", VECTOR.nonce, VECTOR.date, VECTOR.credentials),
    VECTOR.answer,
  );
});

test("a session's token goes with the signature", () => {
  const credentials = { ...VECTOR.credentials, sessionToken: "t0ken" };
  assert.equal(
    signChallenge("us-west-2", VECTOR.nonce, VECTOR.date, credentials),
    `${VECTOR.answer},session_token=t0ken`,
  );
});

test("the authenticator names its mechanism and answers the nonce of the challenge", async () => {
  const ours = authenticator(VECTOR.credentials);
  ours.initialResponse((error, answer) => {
    assert.equal(error, null);
    assert.equal(String(answer), "SigV4\0\0");
  });
  const answer = await answerOf(ours, `nonce=${VECTOR.nonce},more=1`);
  assert.match(answer, /^signature=[0-9a-f]{64},access_key=UserID-1,amzdate=\d{4}-/);
  await assert.rejects(answerOf(ours, "hello"), { message: "the challenge has no nonce" });
});

test("credentials that cannot be had end the connection's attempt, not the process", async () => {
  const ours = authenticator(new Error("expired"));
  await assert.rejects(answerOf(ours, "nonce=1"), { message: "no AWS credentials to sign with" });
});

test("the driver takes what it is given, and checks certificates against the endpoint's name", async () => {
  const security = keyspacesSecurity({
    region: "us-west-2",
    host: "cassandra.us-west-2.amazonaws.com",
    credentials: async () => VECTOR.credentials,
  });
  const client = new Client({
    contactPoints: ["127.0.0.1:9142"],
    localDataCenter: "us-west-2",
    ...security,
  });
  await client.shutdown();
  assert.deepEqual(security.sslOptions, {
    servername: "cassandra.us-west-2.amazonaws.com",
    rejectUnauthorized: true,
  });
});

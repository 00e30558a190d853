import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { openAwsEndpoint } from "#test/support/aws-endpoint.ts";
import { openAccountSecret } from "./database-account.ts";

const secretId = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf";

test("the account is what the secret says, each time it is asked", async () => {
  let password = "first";
  await using endpoint = await openAwsEndpoint((operation, input) => {
    assert.deepEqual([operation, input.SecretId], ["GetSecretValue", secretId]);
    const SecretString = JSON.stringify({ username: "app", password, engine: "mysql", port: 3306 });
    return { body: { ARN: secretId, SecretString } };
  });
  const fetch = openAccountSecret({ secretId, client: endpoint.client });
  const first = await fetch();
  assert.deepEqual([first.user, first.password.reveal()], ["app", "first"]);
  password = "second";
  assert.equal((await fetch()).password.reveal(), "second");
});

test("what is no account, refused or away is retryable, and nothing of it is said", async () => {
  const bodies = [
    { body: { SecretString: "hunter2" } },
    { body: { SecretString: '{"username":"app","pass":"hunter2"}' } },
    { body: { SecretString: "null" } },
    { body: {} },
    { status: 400, body: { __type: "ResourceNotFoundException", message: "hunter2" } },
  ];
  for (const answer of bodies) {
    await using endpoint = await openAwsEndpoint(() => answer);
    const fetch = openAccountSecret({ secretId, client: endpoint.client });
    await assert.rejects(
      fetch(),
      (error: Error) => error instanceof StoreUnavailable && !/hunter2/.test(error.message),
    );
  }
  const client = {
    endpoint: "http://127.0.0.1:9",
    region: "eu-west-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  };
  await assert.rejects(openAccountSecret({ secretId, client })(), StoreUnavailable);
});

test("what is not answered is asked again, and given up in time", { timeout: 5_000 }, async () => {
  await using endpoint = await openAwsEndpoint(() => null);
  const fetch = openAccountSecret({ secretId, client: endpoint.client, requestMs: 50 });
  await assert.rejects(fetch(), StoreUnavailable);
  assert.equal(endpoint.asked.length, 2);
});

/** Answers the JSON protocol of AWS's services on loopback, so that the real clients run against it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Json = Readonly<Record<string, unknown>>;
export type AwsAnswer = { readonly status?: number; readonly body: Json };

export interface AwsEndpoint extends AsyncDisposable {
  /** What a client is opened with. */
  readonly client: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Operations asked for so far, such as `Decrypt`. */
  readonly asked: readonly string[];
}

/** `answer` gets the operation's name and its input; null leaves it without an answer. */
export async function openAwsEndpoint(
  answer: (operation: string, input: Json) => AwsAnswer | null,
): Promise<AwsEndpoint> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
      asked.push(operation);
      const answered = answer(operation, JSON.parse(String(Buffer.concat(chunks))));
      if (answered === null) return;
      const { status = 200, body } = answered;
      response.writeHead(status, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    client: {
      endpoint: `http://127.0.0.1:${port}`,
      region: "eu-west-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    },
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** A proxy in front of the engine that asks for a token, and the Secrets Manager that holds it: the token can be replaced. */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { rolloutVariables } from "../../functions/contract/environment-names.ts";
import { listen } from "../listen.ts";
import type { Interceptor } from "./proxy.ts";
import { operation } from "./steps.ts";

const HEADER = "x-engine-token";
const ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:engine-token-AbCdEf";

export class TokenProxy {
  #token = newToken();
  #server: Server | undefined;

  /** What refuses every call without the token of the day. */
  readonly interceptor: Interceptor = {
    before: ({ headers }) =>
      headers[HEADER] === this.#token
        ? "pass"
        : { answer: { status: 401, text: "who are you?", contentType: "text/plain" } },
  };

  /** Serves the secret; resolves to what the functions need to find it. */
  async up(): Promise<Record<string, string>> {
    const server = createServer((request, response) => {
      request.resume();
      const asked = operation({ method: "", path: "", text: "", json: undefined, headers: request.headers });
      const found = asked === "GetSecretValue";
      response.writeHead(found ? 200 : 400, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(found ? { ARN, Name: "engine-token", SecretString: this.#token } : {}));
    });
    this.#server = server;
    const port = await listen(server);
    return {
      [rolloutVariables.engineSecretArn]: ARN,
      [rolloutVariables.engineHeader]: HEADER,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}`,
    };
  }

  /** From now on the former token is refused. */
  replace(): void {
    this.#token = newToken();
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

function newToken(): string {
  return randomBytes(12).toString("hex");
}

/** A proxy before the local table server that refuses chosen calls as DynamoDB does. */
import { onTestFinished } from "vitest";
import { sendText, serve } from "./http-server.ts";

export interface Refusal {
  /** As DynamoDB names it, such as `ValidationException`. */
  readonly name: string;
  readonly message: string;
}

const jsonType = "application/x-amz-json-1.0";

/** `refuse` is asked about each call. Resolves to the proxy's address; it goes with the test. */
export async function refusingTable(
  target: string,
  refuse: (call: { readonly action: string; readonly body: string }) => Refusal | undefined,
): Promise<string> {
  const server = await serve(async ({ headers, json }, response) => {
    const amzTarget = String(headers["x-amz-target"]);
    const body = JSON.stringify(json);
    const refusal = refuse({ action: amzTarget.split(".")[1] ?? "", body });
    if (refusal) {
      const type = `com.amazonaws.dynamodb.v20120810#${refusal.name}`;
      sendText(response, 400, JSON.stringify({ __type: type, message: refusal.message }), jsonType);
      return;
    }
    const signed = { "x-amz-target": amzTarget, "content-type": jsonType, ...signatureOf(headers) };
    const answer = await fetch(target, { method: "POST", headers: signed, body });
    sendText(response, answer.status, await answer.text(), jsonType);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.url;
}

function signatureOf(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const named = ["authorization", "x-amz-date"].map((name) => [name, String(headers[name])] as const);
  return Object.fromEntries(named);
}

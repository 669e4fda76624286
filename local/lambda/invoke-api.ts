/** Lambda's Invoke API on this machine, for functions that call each other by the SDK. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../listen.ts";
import type { LambdaFunction } from "./function.ts";
import type { InvocationResult } from "./invocation.ts";

export interface InvokeApi {
  readonly endpoint: string;
  /** Whom it can invoke, by name. */
  offer(functions: Iterable<LambdaFunction>): void;
  close(): Promise<void>;
}

const PATH = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

export async function startInvokeApi(): Promise<InvokeApi> {
  const functions = new Map<string, LambdaFunction>();
  const server = createServer((request, response) => {
    answer(request, response, functions).catch(() => response.destroy());
  });
  // A function may run for a quarter of an hour.
  Object.assign(server, { requestTimeout: 0, timeout: 0 });
  // It keeps nothing alive by itself.
  server.unref();
  const port = await listen(server);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    offer: (offered) => {
      for (const lambda of offered) functions.set(lambda.name, lambda);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  functions: ReadonlyMap<string, LambdaFunction>,
): Promise<void> {
  const [, named = ""] = PATH.exec(new URL(request.url ?? "", "http://local").pathname) ?? [];
  const name = decodeURIComponent(named).split(":function:").at(-1)?.split(":")[0] ?? "";
  const lambda = functions.get(name);
  if (request.method !== "POST" || lambda === undefined)
    return fail(response, 404, "ResourceNotFoundException", `Function not found: ${name}`);
  const event = parsed(await text(request));
  if (event === undefined)
    return fail(response, 400, "InvalidRequestContentException", "Could not parse request body into json");
  const result = await lambda.invoke(event);
  if (result.status === "error" && result.error.type === "TooManyRequestsException")
    return fail(response, 429, result.error.type, result.error.message);
  send(response, result);
}

function send(response: ServerResponse, result: InvocationResult): void {
  const failed = result.status === "error";
  response.writeHead(200, {
    "content-type": "application/json",
    "x-amzn-requestid": result.requestId,
    ...(failed ? { "x-amz-function-error": "Unhandled" } : {}),
  });
  const body = failed
    ? {
        errorType: result.error.type,
        errorMessage: result.error.message,
        stackTrace: result.error.trace,
      }
    : result.payload;
  response.end(JSON.stringify(body));
}

function fail(response: ServerResponse, status: number, type: string, message: string): void {
  response
    .writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type })
    .end(JSON.stringify({ message }));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

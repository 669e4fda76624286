/** Engine clients against real servers that misbehave. */
import { createServer } from "node:net";
import { onTestFinished } from "vitest";
import { createEngine, type EngineOptions } from "../../functions/adapters/engine/client.ts";
import { FreshDispatcher } from "../../functions/adapters/engine/dispatcher.ts";
import { EngineError } from "../../functions/core/errors.ts";
import { FakeClock } from "./fake-clock.ts";
import { type Respond, serve } from "./http-server.ts";

/** A client with its own connections, which go with the test. */
export function engineAt(url: string, options: Partial<EngineOptions> = {}) {
  const dispatcher = new FreshDispatcher();
  onTestFinished(() => dispatcher.destroy());
  return createEngine({ url, clock: new FakeClock(), dispatcher, ...options });
}

/** A client and the server that it talks to, which answers as told. */
export async function engineThat(respond: Respond, options: Partial<EngineOptions> = {}) {
  const server = await serve(respond);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { engine: engineAt(server.url, options), server };
}

/** The `EngineError` that the call failed with; anything else fails the test. */
export async function errorOf(work: Promise<unknown>): Promise<EngineError> {
  const error = await work.then(
    (value) => new Error(`expected a failure, found ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof EngineError) return error;
  throw error;
}

/** An address where nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

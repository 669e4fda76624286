import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { AgentEpisode } from "../../functions/contract/agent.ts";
import { makeTask, says, scripted } from "../agents/episode.ts";
import first from "../agents/samples/first.ts";
import ownClient from "../agents/samples/own-client.ts";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/agents.md", root), "utf8");
const samples = [...page.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)].map(([, path = "", code = ""]) => [
  path,
  code,
]);

describe("the page's code is the code that is type-checked and run here", () => {
  test("there are five samples", () => {
    expect(samples.map(([path]) => path)).toEqual([
      "test/agents/samples/first.ts",
      "test/agents/samples/own-client.ts",
      "test/agents/samples/openai-client.ts",
      "test/agents/samples/openai-responses.ts",
      "test/agents/samples/anthropic-messages.ts",
    ]);
  });

  test.each(samples)("%s", (path = "", code = "") => {
    const source = readFileSync(new URL(path, root), "utf8");
    // A user's import of the interface starts from a folder beside agents/.
    expect(code.trim()).toBe(source.replace('"../../../agents/', '"../agents/').trim());
  });
});

describe("the first sample", () => {
  const task = makeTask({ main_query: "Capital of France?", metadata: { reference: "Paris" } });

  test("rewards the reference", async () => {
    expect(await first(task, scripted([says(" paris\n")]))).toEqual({
      reward: 1,
      is_success: true,
      metadata: { answer: "paris" },
      log_metrics: { answer_length: 5 },
    });
  });

  test("gives 0 for another answer, or none", async () => {
    expect(await first(task, scripted([says("Lyon")]))).toMatchObject({ reward: 0 });
    expect(await first(task, scripted([says(null)]))).toMatchObject({ reward: 0, metadata: { answer: "" } });
  });

  test("throws where the task has no reference", async () => {
    await expect(first(makeTask({ metadata: {} }), scripted([]))).rejects.toThrow(
      "expected metadata.reference",
    );
  });
});

describe("the sample with a client of its own", () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  async function episodeAt(
    listener: RequestListener,
  ): Promise<AgentEpisode & { abort: (reason: Error) => void }> {
    const server = createServer(listener);
    closers.push(() => {
      server.close();
      server.closeAllConnections();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return { ...scripted([]), baseUrl: `http://127.0.0.1:${port}/v1` };
  }

  test("asks the episode's address with the episode's key", async () => {
    const asked: unknown[] = [];
    const episode = await episodeAt((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization]);
      response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "yes" } }] }));
    });
    expect(await ownClient(makeTask(), episode)).toEqual({ reward: 1 });
    expect(asked).toEqual([["POST", "/v1/chat/completions", "Bearer key"]]);
  });

  test("takes an answer without choices for a failure, whatever its status", async () => {
    const episode = await episodeAt((_, response) => response.end('{"status_code": 401, "detail": "yes"}'));
    await expect(ownClient(makeTask(), episode)).rejects.toThrow("expected choices, found none (HTTP 200)");
  });

  test("stops when the signal fires", async () => {
    const lost = new Error("episode lost");
    const episode = await episodeAt(() => episode.abort(lost));
    await expect(ownClient(makeTask(), episode)).rejects.toBe(lost);
  });
});

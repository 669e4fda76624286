import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createChat } from "../../functions/adapters/engine/chat.ts";
import { FreshDispatcher } from "../../functions/adapters/engine/dispatcher.ts";
import { deadUrl } from "../support/engine-that.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { sendJson, serve } from "../support/http-server.ts";

const page = readFileSync(new URL("../../docs/agents.md", import.meta.url), "utf8");
const [, table = ""] = page.split("| `error.status` |");
const rows = [
  ...table
    .split("\n\n", 1)
    .join("")
    .matchAll(/^\| (\S.*?) +\|/gm),
].map(([, cell]) => cell);

/** What an agent catches: it has no type of the error, and looks at the two fields that the page names. */
async function caught(baseUrl: string, signal = new AbortController().signal): Promise<unknown> {
  const dispatcher = new FreshDispatcher();
  onTestFinished(() => dispatcher.destroy());
  const { chat } = createChat({ baseUrl, apiKey: "sk-x", signal, dispatcher, clock: new FakeClock() });
  return chat({ messages: [] }).then(
    () => "an answer",
    (error: unknown) => error,
  );
}

async function refusedWith(status: number, json: object): Promise<unknown> {
  const server = await serve((_, response) => sendJson(response, status, json));
  onTestFinished(() => server[Symbol.asyncDispose]());
  return caught(server.url);
}

test("the page names every status that is told apart", () => {
  expect(rows.filter((cell) => cell?.startsWith("-") === false)).toEqual([
    "`undefined`",
    "`200`",
    "`429`",
    "any other",
  ]);
});

test.each([
  [200, { status_code: 404, detail: "no such episode" }],
  [200, { choices: [] }],
  [429, { detail: "slow down" }],
  [400, { detail: "bad request" }],
])("a refusal with HTTP %i carries it", async (status, json) => {
  expect(await refusedWith(status, json)).toMatchObject({ code: "model-error", status });
});

test("no answer has no status", async () => {
  expect(await caught(await deadUrl())).toMatchObject({ code: "model-error", status: undefined });
});

test("a signal's reason is thrown as it is", async () => {
  const reason = new Error("the deadline is over");
  expect(await caught("http://127.0.0.1:9", AbortSignal.abort(reason))).toBe(reason);
});

/** An agent is a function: its test needs neither an engine nor a network. `npm test` runs this. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentEpisode, ChatRequest, Task } from "sortie/agent";
import agent from "../agent.ts";

const task: Task = {
  main_query: "What is 6 × 7?",
  init_messages: [],
  task_id: "t1",
  env_type: "",
  metadata: { answer: "6 * 7 = 42 #### 42" },
};

/** An episode whose model says `content`. */
function saying(content: string): AgentEpisode & { readonly asked: ChatRequest[] } {
  const asked: ChatRequest[] = [];
  return {
    asked,
    baseUrl: "http://model.invalid/v1",
    apiKey: "none",
    signal: new AbortController().signal,
    deadline: Date.now() + 60_000,
    log: () => undefined,
    chat: async (request) => {
      asked.push(request);
      return { role: "assistant", content };
    },
  };
}

test("the right number earns 1, and the model is asked for it", async () => {
  const episode = saying("Six sevens are 42.");
  assert.equal((await agent(task, episode)).reward, 1);
  assert.equal(episode.asked[0]?.messages.at(-1)?.content, "What is 6 × 7?");
});

test("a wrong number earns 0", async () => {
  assert.equal((await agent(task, saying("It is 41."))).reward, 0);
});

test("a task without an answer is an error, not a reward", async () => {
  await assert.rejects(agent({ ...task, metadata: {} }, saying("42")), /has no number in metadata\.answer/);
});

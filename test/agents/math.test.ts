import { expect, test } from "vitest";
import agent from "../../agents/math.ts";
import { makeTask, says, scripted } from "./episode.ts";

test("asks once, for an answer in a box, and grades it", async () => {
  const episode = scripted([says("6 * 7 is \\boxed{42}")]);
  const output = await agent(makeTask(), episode);
  expect(output).toMatchObject({ reward: 1, is_success: true, metadata: { answer: "42", expected: "42" } });
  expect(episode.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ["system", "user"],
  ]);
  expect(episode.requests[0]?.messages[0]?.content).toContain("\\boxed{}");
  expect(episode.requests[0]?.messages[1]?.content).toBe("How much is 6 * 7?");
});

test("neither the reference nor anything else of the metadata is sent to the model", async () => {
  const episode = scripted([says("?")]);
  await agent(makeTask({ metadata: { answer: "secret #### 4711" } }), episode);
  expect(JSON.stringify(episode.requests)).not.toMatch(/secret|4711/);
});

test("the prompt is not in the output", async () => {
  const output = await agent(makeTask(), scripted([says("\\boxed{41}")]));
  expect(JSON.stringify(output)).not.toContain("How much");
});

test("a task without a reference throws before the model is asked", async () => {
  const episode = scripted([says("\\boxed{42}")]);
  await expect(agent(makeTask({ metadata: {} }), episode)).rejects.toThrow("expected metadata.answer");
  expect(episode.requests).toEqual([]);
});

test("a model that cannot be asked is an error, not a reward of 0", async () => {
  const broken = () => {
    throw new Error("no choices");
  };
  await expect(agent(makeTask(), scripted([broken]))).rejects.toThrow("no choices");
});

/**
 * The agent of a chaos run: one call to the model, and misbehaviour by seed. What it does is drawn from the task's
 * metadata and the episode's key, so that a rollout's next attempt draws anew.
 */
import type { Agent, AgentEpisode, AgentOutput, Task } from "../../functions/contract/agent.ts";
import { createRandom, hash } from "../random.ts";
import { type Ailment, type ChaosTask, INJECTED } from "./task-facts.ts";

/** Longer than a thread may be silent. */
const BLOCK_MS = 10_000;
const SLOW_MS = 4000;

const agent: Agent = async (task, episode) => {
  const facts = task.metadata as unknown as ChaosTask;
  const ailment = ailmentOf(facts, episode.apiKey);
  if (ailment !== "none") episode.log(INJECTED, { ailment });
  switch (ailment) {
    case "hang":
      return await new Promise<never>(() => undefined);
    case "throw":
      throw new Error(`injected: the agent throws on ${facts.rollout}`);
    case "garbage":
      return "no output" as unknown as AgentOutput;
    case "no-call":
      return outputOf(facts, "", ailment);
    case "ignore":
      // On purpose not awaited with the signal: it also outlives the attempt.
      await zombieCall(task, episode);
      break;
    case "block":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCK_MS);
      break;
    case "exit":
      return process.exit(1);
    case "spin":
      return spinForever();
    case "bloat":
      return await takeAllMemory();
    case "reject":
      for (let count = 0; count < 1000; count += 1)
        void Promise.reject(new Error("injected: nobody handles this"));
      break;
    case "slow":
      await ask(task, episode);
      await pause(SLOW_MS);
      break;
    case "none":
      if (facts.seconds !== undefined) await pause(facts.seconds * 1000);
  }
  return outputOf(facts, await ask(task, episode), ailment);
};
export default agent;

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function spinForever(): never {
  for (;;) JSON.stringify({ spin: true });
}

/** Turn by turn, so that its neighbours go on until the end. */
async function takeAllMemory(): Promise<never> {
  const hoard: number[][] = [];
  for (;;) {
    hoard.push(Array.from({ length: 500_000 }, Math.random));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function ailmentOf({ always, seed, rollout, rates }: ChaosTask, apiKey: string): Ailment | "none" {
  if (always) return always;
  const drawn = createRandom("agent", seed, rollout, apiKey)();
  let sum = 0;
  for (const [ailment, rate] of rates) {
    sum += rate;
    if (drawn < sum) return ailment;
  }
  return "none";
}

async function ask(task: Task, episode: AgentEpisode): Promise<string> {
  const { content } = await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  return content ?? "";
}

/** The reward depends on the answer, and is told again in the metadata: whoever changes it on the way is found out. */
function outputOf({ rollout }: ChaosTask, answer: string, ailment: string): AgentOutput {
  const reward = (hash(`${rollout} ${answer}`) % 1000) / 1000;
  return { reward, is_success: reward > 0.5, metadata: { rollout, agent_reward: reward, ailment } };
}

async function zombieCall(task: Task, { baseUrl, apiKey }: AgentEpisode): Promise<void> {
  for (let call = 0; call < 3; call += 1) {
    await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "any", messages: [{ role: "user", content: task.main_query }] }),
    }).then(
      (answer) => answer.arrayBuffer(),
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

/** Waits as long as its task says, calls the model once, and returns 1. */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "../../agents/agent.ts";

const agent: Agent = async (task, episode) => {
  await delay(Number(task.metadata["seconds"]) * 1000, undefined, { signal: episode.signal });
  await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  return { reward: 1 };
};
export default agent;

/** An agent that does what its task's `env_type` says. */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "../../functions/contract/agent.ts";

const agent: Agent = async (task, episode) => {
  await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  if (task.env_type === "throw") throw new Error("no such tool");
  if (task.env_type === "hang") await delay(3_600_000);
  // The event loop stands still: no timer, no signal and no answer gets through.
  if (task.env_type === "block") for (;;);
  if (task.env_type === "exit") process.exit(1);
  if (task.env_type === "reject-later") void Promise.reject(new Error("nobody waited for this"));
  if (task.env_type === "throw-later")
    setTimeout(() => {
      throw new Error("nobody waited for this");
    }, 1);
  if (task.env_type.endsWith("-later")) await delay(50);
  return { reward: 0.5 };
};
export default agent;

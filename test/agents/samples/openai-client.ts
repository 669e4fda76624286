import OpenAI from "openai";
import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, episode) => {
  const client = new OpenAI({
    baseURL: episode.baseUrl,
    apiKey: episode.apiKey,
    // The SDK's 10 minutes may be too short, or longer than the function lives.
    timeout: Math.max(1, episode.deadline - Date.now()),
    // It repeats failed calls by itself: on an episode that is gone, that only costs time.
    maxRetries: 0,
  });
  const { choices } = await client.chat.completions.create(
    { model: "any", messages: [{ role: "user", content: task.main_query }] },
    { signal: episode.signal },
  );
  const [choice] = choices ?? [];
  if (choice === undefined) throw new Error("expected choices, found none: the engine refused the call");
  return { reward: choice.message.content?.includes("yes") ? 1 : 0 };
};
export default agent;

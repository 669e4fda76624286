import Anthropic from "@anthropic-ai/sdk";
import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, { baseUrl, apiKey, deadline, signal }) => {
  const client = new Anthropic({
    // The SDK puts /v1/messages behind its address.
    baseURL: baseUrl.replace(/\/v1$/, ""),
    apiKey,
    timeout: Math.max(1, deadline - Date.now()),
    maxRetries: 0,
  });
  const messages = [{ role: "user" as const, content: task.main_query }];
  const { content } = await client.messages.create({ model: "any", max_tokens: 1024, messages }, { signal });
  const words = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { reward: words.includes("yes") ? 1 : 0 };
};
export default agent;

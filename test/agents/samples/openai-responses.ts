import OpenAI from "openai";
import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, { baseUrl, apiKey, deadline, signal }) => {
  const timeout = Math.max(1, deadline - Date.now());
  const client = new OpenAI({ baseURL: baseUrl, apiKey, timeout, maxRetries: 0 });
  const answer = await client.responses.create({ model: "any", input: task.main_query }, { signal });
  return { reward: answer.output_text.includes("yes") ? 1 : 0 };
};
export default agent;

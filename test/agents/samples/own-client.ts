import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, episode) => {
  const response = await fetch(`${episode.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${episode.apiKey}` },
    body: JSON.stringify({ model: "any", messages: [{ role: "user", content: task.main_query }] }),
    signal: episode.signal,
  });
  const { choices } = (await response.json()) as { choices?: { message: { content: string | null } }[] };
  // An engine may refuse with HTTP 200: what has no choices is a failure, whatever its status.
  const message = choices?.[0]?.message;
  if (message === undefined) throw new Error(`expected choices, found none (HTTP ${response.status})`);
  return { reward: message.content?.includes("yes") ? 1 : 0 };
};
export default agent;

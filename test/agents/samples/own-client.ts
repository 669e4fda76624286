import { Agent as Connections, fetch as undiciFetch } from "undici";
import type { Agent, AgentEpisode } from "../../../agents/agent.ts";

// Node's fetch gives up after 300 s without an answer, and a model call may take longer.
const dispatcher = new Connections({
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveMaxTimeout: 3000,
});
export const patientFetch = ((url: string, init: object) =>
  undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;

const agent: Agent = async (task, episode) => {
  const response = await patientFetch(`${episode.baseUrl}/chat/completions`, {
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

/** For `new OpenAI(openAiOptions(episode))`; give each call `{ signal: episode.signal }` as well. */
export function openAiOptions(episode: AgentEpisode) {
  return {
    baseURL: episode.baseUrl,
    apiKey: episode.apiKey,
    fetch: patientFetch,
    // The SDK's 10 minutes may be too short, or longer than the function lives.
    timeout: Math.max(1, episode.deadline - Date.now()),
    // The SDK repeats failed calls on its own: on an episode that is gone, that only costs time.
    maxRetries: 0,
  };
}

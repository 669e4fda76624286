import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, episode) => {
  const reply = await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  return { reward: reply.content?.includes(String(task.metadata["answer"])) ? 1 : 0 };
};
export default agent;

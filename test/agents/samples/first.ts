import type { Agent } from "../../../agents/agent.ts";

const agent: Agent = async (task, episode) => {
  const { reference } = task.metadata;
  if (typeof reference !== "string") throw new Error(`task "${task.task_id}": expected metadata.reference`);

  const reply = await episode.chat({
    messages: [
      { role: "system", content: "Answer with one word." },
      { role: "user", content: task.main_query },
    ],
    temperature: 1,
  });

  const answer = reply.content?.trim().toLowerCase() ?? "";
  const right = answer === reference.toLowerCase();
  return {
    reward: right ? 1 : 0,
    is_success: right,
    metadata: { answer },
    log_metrics: { answer_length: answer.length },
  };
};
export default agent;

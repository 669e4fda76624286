import type { Agent } from "sortie/agent";

const instruction = "Solve the problem step by step. End with the answer, a number.";
const lastNumber = (text: string) =>
  text
    .match(/-?\d[\d,]*(\.\d+)?/g)
    ?.at(-1)
    ?.replaceAll(",", "");

const agent: Agent = async (task, episode) => {
  // As GSM8K has it: "48 / 2 = 24, 48 + 24 = 72 #### 72".
  const expected = lastNumber(String(task.metadata["answer"]));
  if (expected === undefined) throw new Error(`task "${task.task_id}" has no number in metadata.answer`);

  const reply = await episode.chat({
    messages: [
      { role: "system", content: instruction },
      { role: "user", content: task.main_query },
    ],
  });
  return { reward: lastNumber(reply.content ?? "") === expected ? 1 : 0 };
};
export default agent;

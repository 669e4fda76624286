/** One question, one answer in `\boxed{}`, graded as in GSM8K. The smallest agent that is of use: copy it. */
import type { Agent } from "./agent.ts";
import { grade, openingMessages, referenceAnswer } from "./support/answers.ts";

const instruction = "Solve the problem step by step. Put the final answer, a number, in \\boxed{}.";

const agent: Agent = async (task, episode) => {
  // Before the model is asked: a task without a reference would waste a slot.
  const expected = referenceAnswer(task);
  const reply = await episode.chat({ messages: openingMessages(task, instruction) });
  return grade(expected, reply);
};
export default agent;

/** Several turns with a calculator: the model calls the tool as often as it likes, then answers in `\boxed{}`. */
import type { Agent, AgentOutput, ChatMessage } from "./agent.ts";
import { grade, openingMessages, referenceAnswer } from "./support/answers.ts";
import { type AnsweredCall, answerToolCalls, calculatorTool } from "./support/calculator-tool.ts";

/** Model calls in one episode. A model that is not done by then is graded on its last reply. */
export const TURN_LIMIT = 8;

const instruction =
  "Solve the problem step by step. Use the calculator for arithmetic. Put the final answer, a number, in \\boxed{}.";

const agent: Agent = async (task, episode) => {
  const expected = referenceAnswer(task);
  const messages = openingMessages(task, instruction);
  const counts = { tool_calls: 0, tool_errors: 0 };
  for (let turns = 1; ; turns += 1) {
    // An episode that nobody wants any more must not ask the model again.
    episode.signal.throwIfAborted();
    const reply = await episode.chat({ messages: [...messages], tools: [calculatorTool] });
    const answered = answerToolCalls(reply);
    counts.tool_calls += answered.length;
    counts.tool_errors += answered.filter((one) => one.failed).length;
    if (answered.length === 0 || turns === TURN_LIMIT) {
      return withMetrics(grade(expected, reply), {
        ...counts,
        turns,
        turn_limit: answered.length > 0 ? 1 : 0,
      });
    }
    messages.push(assistantTurn(reply, answered), ...answered.map((one) => one.result));
  }
};
export default agent;

function assistantTurn(reply: ChatMessage, answered: readonly AnsweredCall[]): ChatMessage {
  return { ...reply, role: "assistant", tool_calls: answered.map((one) => one.call) };
}

function withMetrics(output: Required<AgentOutput>, metrics: Record<string, number>): AgentOutput {
  return { ...output, log_metrics: { ...output.log_metrics, ...metrics } };
}

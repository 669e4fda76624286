/** The chaos agent as a Lambda function of its own. */
import { answerTo } from "./agent-answer.ts";

export const handler = async (event: unknown) => await answerTo(event, new AbortController().signal);

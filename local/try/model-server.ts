/** The model that an agent is tried with: the stand-in's own, or any server that speaks OpenAI's API, with a record. */
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { ChatMessage, ChatRequest } from "../../functions/contract/agent.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { createKnowledge } from "../engine/knowledge.ts";
import { createModel } from "../engine/model.ts";
import type { Answer, AskModel } from "../engine/remote-model.ts";
import { listen } from "../listen.ts";

/** One model call. */
export interface Exchange {
  readonly messages: readonly ChatMessage[];
  readonly answer: Answer;
}

export interface ModelServer {
  /** Ends in `/v1`. */
  readonly url: string;
  /** Takes what was said since the last time. */
  take(): Exchange[];
  close(): void;
}

/** The stand-in's model as it is after some training; `unknown` is told of questions to which it has no answer. */
export function standInModel(tasks: readonly Task[], unknown: () => void): AskModel {
  const model = createModel({ tasks, seed: 1 });
  const find = createKnowledge(tasks);
  return async (_, body) => {
    const request = body as unknown as ChatRequest;
    if (find(request.messages).known === undefined) unknown();
    const { message, usage } = model(request, { globalStep: TRAINED, episodeUuid: "try" });
    const choices = [{ index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop" }];
    return { status: 200, body: JSON.stringify({ object: "chat.completion", choices, usage }) };
  };
}

/** Steps after which the stand-in's model is mostly right. */
const TRAINED = 10;

export async function startModelServer(ask: AskModel): Promise<ModelServer> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    void answerTo(request, ask, exchanges).then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    take: () => exchanges.splice(0),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answerTo(request: IncomingMessage, ask: AskModel, exchanges: Exchange[]): Promise<Answer> {
  const gone = new AbortController();
  request.socket.once("close", () => gone.abort());
  let messages: ChatMessage[] = [];
  let answer: Answer;
  try {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    messages = (body["messages"] ?? []) as ChatMessage[];
    answer = await ask((request.url ?? "").replace(/^\/v1/, ""), body, gone.signal);
  } catch (error) {
    const detail = `the model could not be asked: ${(error as Error).message}`;
    answer = { status: 502, body: JSON.stringify({ detail }) };
  }
  exchanges.push({ messages, answer });
  return answer;
}

/** A task and an episode for the tests of agents; the model is a script of replies. */
import type { AgentEpisode, ChatMessage, ChatRequest, Task } from "../../functions/contract/agent.ts";

export function makeTask(fields: Partial<Task> = {}): Task {
  return {
    task_id: "task-1",
    main_query: "How much is 6 * 7?",
    init_messages: [],
    env_type: "math",
    metadata: { answer: "6 * 7 = 42\n#### 42" },
    ...fields,
  };
}

export function says(content: string | null): ChatMessage {
  return { role: "assistant", content };
}

export function calls(...written: readonly { name?: string; arguments: string; id?: string }[]): ChatMessage {
  const tool_calls = written.map(({ name = "calculator", id = "call-1", arguments: text }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: text },
  }));
  return { role: "assistant", content: null, tool_calls };
}

/** An episode whose model gives the replies in order; `requests` holds what it was asked. */
export function scripted(replies: readonly (ChatMessage | (() => ChatMessage))[]): AgentEpisode & {
  requests: ChatRequest[];
  abort: (reason: Error) => void;
} {
  const requests: ChatRequest[] = [];
  const controller = new AbortController();
  return {
    baseUrl: "http://127.0.0.1:1/v1",
    apiKey: "key",
    signal: controller.signal,
    deadline: 1_000_000,
    log: () => undefined,
    chat: async (request) => {
      const reply = replies[requests.push(request) - 1];
      if (reply === undefined) throw new Error(`the script has ${replies.length} replies`);
      return typeof reply === "function" ? reply() : reply;
    },
    requests,
    abort: (reason) => controller.abort(reason),
  };
}

/** From what went over the wire to what was said. */
import { chatAsked, chatAssembled, chatReply } from "./chat-api.ts";
import { type Asked, type Fields, fields, type Reply } from "./message.ts";
import { messagesAsked, messagesAssembled, messagesReply } from "./messages-api.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { responsesAsked, responsesAssembled, responsesReply } from "./responses-api.ts";

export interface ReadCall {
  readonly asked: Asked;
  /** Absent where the answer is none of a model. */
  readonly reply: Reply | undefined;
}

const apis = [
  { route: /\/responses\/?$/, asked: responsesAsked, assembled: responsesAssembled, reply: responsesReply },
  { route: /\/messages\/?$/, asked: messagesAsked, assembled: messagesAssembled, reply: messagesReply },
  { route: /\/completions\/?$/, asked: chatAsked, assembled: chatAssembled, reply: chatReply },
] as const;

/** Undefined where it was no conversation, as a call for embeddings. */
export function readCall({ path, request, response, contentType }: RecordedCall): ReadCall | undefined {
  const api = apis.find(({ route }) => route.test(path.split("?")[0] ?? ""));
  if (!api) return undefined;
  const streamed = contentType === "text/event-stream";
  const answer = streamed ? api.assembled(eventsIn(response)) : parsed(response);
  return { asked: api.asked(parsed(request)), reply: api.reply(answer) };
}

function eventsIn(stream: string): Fields[] {
  return stream
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => parsed(line.slice("data:".length)));
}

/** An empty object where it is no JSON object, as the end of a stream or of a body that was cut off. */
function parsed(json: string): Fields {
  try {
    return fields(JSON.parse(json));
  } catch {
    return {};
  }
}

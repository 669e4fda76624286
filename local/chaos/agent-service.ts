/** The chaos agent as a service, in a process of its own that can be killed: `node agent-service.ts PORT`. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { answerTo } from "./agent-answer.ts";

const server = createServer((request, response) => {
  if (request.url === "/ping") return void response.end('{"status": "Healthy"}');
  answer(request, response).catch((error: Error) => {
    response.writeHead(500, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: error.message }));
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => process.stdout.write("ready\n"));

/** Nobody wants the answer any more where the connection is closed before it. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("nobody wants the episode any more")));
  const event = await json(request);
  const text = JSON.stringify(await answerTo(event, gone.signal));
  response.writeHead(200, { "content-type": "application/json" }).end(text);
}

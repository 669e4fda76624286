/** A client that shows what is on the wire: broken answers too. */
import { request } from "node:http";
import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** The connection broke before the answer was whole. */
  readonly isBroken: boolean;
}

/** One request on a connection of its own. */
export function send(
  url: string,
  method: string,
  path: string,
  body: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, { method, headers, agent: false }, (answer) => {
      let text = "";
      const done = (isBroken: boolean) =>
        resolve({
          status: answer.statusCode ?? 0,
          contentType: answer.headers["content-type"],
          text,
          isBroken,
        });
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => done(false));
      answer.on("error", () => done(true));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** One kept-alive connection; what the server does to it can be seen. */
export class Connection {
  readonly #socket: Socket;
  #received = "";
  #ended = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      this.#received += chunk;
    });
    socket.on("end", () => {
      this.#ended = true;
    });
    socket.on("close", () => {
      this.#ended = true;
    });
    socket.on("error", () => undefined);
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Connection(socket)));
    });
  }

  /** The raw answer, or undefined where the connection ended without one. */
  async post(path: string, body: string): Promise<string | undefined> {
    this.#received = "";
    const head = `POST ${path} HTTP/1.1\r\nhost: engine\r\ncontent-type: application/json\r\n`;
    this.#socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    while (!isWhole(this.#received)) {
      if (this.#ended) return undefined;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return this.#received;
  }

  /** Resolves when the server has ended the connection. */
  async ended(): Promise<void> {
    while (!this.#ended) await new Promise((resolve) => setImmediate(resolve));
  }

  close(): void {
    this.#socket.destroy();
  }
}

function isWhole(answer: string): boolean {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return length !== undefined && Buffer.byteLength(rest.join("\r\n\r\n")) >= Number(length);
}

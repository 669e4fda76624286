import type { Readable } from "node:stream";

/**
 * Calls `onLine` for each line of a stream, the last one also without its end. Only a line feed ends a line: unlike for
 * `node:readline`, a carriage return or U+2028 inside a JSON line does not.
 */
export function forEachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => {
    if (rest !== "") onLine(rest);
  });
}

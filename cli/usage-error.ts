/** What commander finds wrong with a command line, in one line that names the help. */
import { printable } from "./terminal-text.ts";

/** `help` is the command that prints it; commander writes its suggestion on a second line. */
export function usageError(text: string, help: string): string {
  const [fault = "", suggestion = ""] = text.trimEnd().split(/\n(?=\(Did you mean )/);
  const words = printable([fault.replace(/^error: /, ""), suggestion].filter(Boolean).join(" "));
  return `${words}${words.endsWith(".") ? " See" : ": see"} ${help}\n`;
}

/** A recording, shortened: waits are cut, and of what changes all the time some frames are enough. */
import { type Frame, type Size, Terminal } from "./terminal.ts";

/** Of a recording's time, one frame is taken in so long, ms. */
const SAMPLE_MS = 1500;
/** How long a frame stays, ms, and how long the last. */
const SHOWN_MS = 600;
const LAST_MS = 6000;

/** `command` stands above what it wrote, as if it had been typed. */
export async function framesOf(
  command: string,
  written: readonly { readonly at: number; readonly text: string }[],
  size: Size,
): Promise<Frame[]> {
  const terminal = new Terminal(size);
  await terminal.write(`\u001b[1m$ ${command}\u001b[0m\r\n`);
  const frames: Frame[] = [{ screen: terminal.screen(), ms: SHOWN_MS }];
  let next = 0;
  for (const { at, text } of written) {
    await terminal.write(text);
    if (at < next) continue;
    frames.push({ screen: terminal.screen(), ms: SHOWN_MS });
    next = at + SAMPLE_MS;
  }
  return [...frames, { screen: terminal.screen(), ms: LAST_MS }];
}

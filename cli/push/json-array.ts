/** The elements of a JSON array, one at a time, so that a file of any size can be read. */
import { LONGEST_LINE, type Numbered } from "./lines.ts";

/**
 * Cuts at the commas of the outermost array and leaves it to `JSON.parse` whether an element is JSON. An array that does
 * not end comes with a last element that says so.
 */
export async function* arrayElements(texts: AsyncIterable<string>): AsyncGenerator<Numbered> {
  const cutter = new Cutter();
  for await (const text of texts) {
    for (const character of text) {
      const element = cutter.take(character);
      if (element) yield element;
    }
  }
  const rest = cutter.rest();
  if (rest) yield rest;
}

class Cutter {
  #line = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;
  #element = { line: 0, text: "" };

  /** The element that ends with this character. */
  take(character: string): Numbered | undefined {
    if (character === "\n") this.#line += 1;
    if (this.#inString) {
      this.#takeInString(character);
      return undefined;
    }
    if (character === '"') this.#inString = true;
    const before = this.#depth;
    if (character === "[" || character === "{") this.#depth += 1;
    if (character === "]" || character === "}") this.#depth -= 1;
    const outer = before === 0 || this.#depth === 0 || (before === 1 && character === ",");
    if (!outer || this.#closed) {
      this.#add(character);
      return undefined;
    }
    if (before === 0) {
      if (character !== "[" && character.trim() !== "") this.#add(character);
      return undefined;
    }
    this.#closed = this.#depth === 0;
    return this.#cut();
  }

  /** What stands after the array, or in one that does not end. */
  rest(): Numbered | undefined {
    const { line, text } = this.#element;
    if (this.#closed && text === "") return undefined;
    const seen = text === "" ? "the end of the file" : text.slice(0, 40);
    return { line: text === "" ? this.#line : line, text: `not one whole JSON array: ${seen}` };
  }

  #takeInString(character: string): void {
    this.#add(character);
    if (this.#escaped) this.#escaped = false;
    else if (character === "\\") this.#escaped = true;
    else if (character === '"') this.#inString = false;
  }

  #add(character: string): void {
    if (this.#element.text === "" && character.trim() === "") return;
    if (this.#element.text === "") this.#element.line = this.#line;
    if (this.#element.text.length <= LONGEST_LINE) this.#element.text += character;
  }

  /** Nothing between two commas is a fault; nothing before the end is none. */
  #cut(): Numbered | undefined {
    const { line, text } = this.#element;
    this.#element = { line: 0, text: "" };
    if (text.trim() === "") return this.#closed ? undefined : { line: this.#line, text: "" };
    return { line, text };
  }
}

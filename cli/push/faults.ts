/** The faults of files of tasks: the first are told, the others counted, since a wrong file is wrong from top to bottom. */
import { printable } from "../terminal-text.ts";

export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly fault: string;
  /** The `--map` under which the record would be a task. */
  readonly proposal?: string | undefined;
}

const MOST_SHOWN = 10;
/** For programs, which get them as JSON. */
const MOST_KEPT = 1000;
const MOST_KINDS = 5;

export class FaultReport {
  readonly kept: Fault[] = [];
  proposal: string | undefined;
  readonly #write: (line: string) => void;
  readonly #unshown = new Map<string, number>();
  #count = 0;

  /** `write` gets the first faults as they are found, each as one line without its end. */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  add(fault: Fault): void {
    const { file, line, fault: words, proposal } = fault;
    this.#count += 1;
    this.proposal ??= proposal;
    if (this.kept.length < MOST_KEPT) this.kept.push({ file, line, fault: words });
    if (this.#count <= MOST_SHOWN) this.#write(printable(`${file}:${line}: ${words}`));
    else this.#unshown.set(kindOf(words), (this.#unshown.get(kindOf(words)) ?? 0) + 1);
  }

  /** What remains to be said once all files are read: how many more of each kind, and the mapping to try. */
  conclude(): void {
    const kinds = [...this.#unshown].sort(([, a], [, b]) => b - a);
    for (const [kind, count] of kinds.slice(0, MOST_KINDS))
      this.#write(printable(`… and ${count} more: ${kind}`));
    const rest = kinds.slice(MOST_KINDS).reduce((sum, [, count]) => sum + count, 0);
    if (rest > 0) this.#write(`… and ${rest} more of other kinds`);
    if (this.proposal !== undefined)
      this.#write(printable(`Columns such as these are tasks with ${this.proposal}`));
  }
}

/** A fault without what differs between two of its kind: names in quotes, and numbers. */
function kindOf(fault: string): string {
  return fault.replace(/"(?:[^"\\]|\\.)*"/g, "…").replace(/\d+/g, "N");
}

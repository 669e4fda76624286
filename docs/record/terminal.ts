/** What a terminal of a given size shows after it has been written to, as text and as a picture. */
import xterm from "@xterm/headless";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A piece of a line whose cells look alike. */
interface Run {
  readonly text: string;
  /** In cells, from the line's beginning. */
  readonly at: number;
  readonly color: string;
  readonly bold: boolean;
}
export type Screen = readonly (readonly Run[])[];

const FOREGROUND = "#d4d4d4";
const BACKGROUND = "#1e1e1e";
/** The first eight colours of a terminal, and their bright ones. */
const palette = [
  ...["#6e7681", "#f47067", "#6bc46d", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#d4d4d4"],
  ...["#8b949e", "#ff938a", "#8ddb8c", "#f0cc6b", "#96d0ff", "#eedcff", "#76e3ea", "#ffffff"],
];

export class Terminal {
  readonly #terminal: xterm.Terminal;
  readonly #size: Size;

  constructor(size: Size) {
    this.#size = size;
    this.#terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
  }

  async write(text: string): Promise<void> {
    await new Promise<void>((written) => this.#terminal.write(text, written));
  }

  /** What stands on it now; what has scrolled away is not there. */
  screen(): Screen {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#size.rows }, (_, row) => runsOf(active.getLine(active.baseY + row)));
  }

  /** … without colours, and without the empty lines at its end. */
  text(): string {
    return this.screen().map(textOf).join("\n").trimEnd();
  }
}

function textOf(runs: readonly Run[]): string {
  return runs.reduce((line, { text, at }) => line.padEnd(at) + text, "");
}

function runsOf(line: xterm.IBufferLine | undefined): Run[] {
  const runs: Run[] = [];
  for (let at = 0; at < (line?.length ?? 0); at += 1) {
    const cell = line?.getCell(at);
    if (!cell || cell.getWidth() === 0) continue;
    const text = cell.getChars() || " ";
    const color = cell.isFgDefault() ? FOREGROUND : colorOf(cell.getFgColor());
    const look = { color, bold: cell.isBold() !== 0 };
    const last = runs.at(-1);
    if (last && last.color === look.color && last.bold === look.bold)
      runs[runs.length - 1] = { ...last, text: last.text + text };
    else runs.push({ text, at, ...look });
  }
  return runs
    .map((run, index) => (index === runs.length - 1 ? { ...run, text: run.text.trimEnd() } : run))
    .filter(({ text }) => text !== "");
}

function colorOf(index: number): string {
  return palette[index] ?? FOREGROUND;
}

/** A frame of a recording; `ms` is how long it stays. */
export interface Frame {
  readonly screen: Screen;
  readonly ms: number;
}

const CELL = { width: 8.4, height: 18 };
const MARGIN = 14;

/** An SVG that plays the frames over and over; who cannot play it shows the last. */
export function svgOf(frames: readonly Frame[], size: Size, title: string): string {
  const width = Math.ceil(size.columns * CELL.width + 2 * MARGIN);
  const height = Math.ceil(size.rows * CELL.height + 2 * MARGIN);
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  let begin = 0;
  const groups = frames.map(({ screen, ms }, index) => {
    const [from, to] = [begin / total, (begin + ms) / total];
    begin += ms;
    const play = frames.length > 1 ? played(from, to, total) : "";
    const opacity = index === frames.length - 1 ? 1 : 0;
    return `<g opacity="${opacity}">${play}${screen.flatMap(lineSvg).join("")}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`,
    ...groups,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Visible from one share of the whole time to another. */
function played(from: number, to: number, total: number): string {
  const steps = [...(from > 0 ? [["0", 0]] : []), ["1", from], ...(to < 1 ? [["0", to]] : [])];
  const values = steps.map(([value]) => value).join(";");
  const times = steps.map(([, at]) => Number(at).toFixed(4)).join(";");
  return `<animate attributeName="opacity" calcMode="discrete" values="${values}" keyTimes="${times}" dur="${(total / 1000).toFixed(1)}s" repeatCount="indefinite"/>`;
}

function lineSvg(runs: readonly Run[], row: number): string[] {
  const y = (MARGIN + (row + 0.75) * CELL.height).toFixed(1);
  return runs.map(({ text, at, color, bold }) => {
    const x = (MARGIN + at * CELL.width).toFixed(1);
    // Any font's characters take the place of a cell each.
    const length = ([...text].length * CELL.width).toFixed(1);
    const weight = bold ? ' font-weight="bold"' : "";
    return `<text x="${x}" y="${y}" fill="${color}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${weight}>${escaped(text)}</text>`;
  });
}

function escaped(text: string): string {
  return text.replace(
    /[&<>"]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? sign,
  );
}

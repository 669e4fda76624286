/** Tables for the terminal. */
import Table from "cli-table3";
import type { Style } from "./io.ts";

/** cli-table3 would colour by itself, terminal or not; and draw a line under every row. */
const plainStyle = { head: [], border: [], compact: true };
/** Padding and borders of two columns. */
const TWO_COLUMN_FRAME = 7;
const NARROWEST = 16;
const WITHOUT_TERMINAL = 100;

/** Labels on the left, texts on the right, wrapped at the width of the terminal. */
export function labelledTable(
  rows: readonly (readonly [label: string, text: string])[],
  style: Style,
  columns = WITHOUT_TERMINAL,
): string {
  const remaining = longest(rows.map(([label]) => label));
  const room = Math.max(NARROWEST, columns - remaining - TWO_COLUMN_FRAME);
  const right = Math.min(longest(rows.map(([, text]) => text)), room);
  const table = new Table({ style: plainStyle, wordWrap: true, colWidths: [remaining + 2, right + 2] });
  for (const [label, text] of rows) table.push([style("dim", label), text.trim()]);
  return table.toString();
}

/** One labelled row per figure, one column per thing that is counted; figures to the right. */
export function figuresTable(
  heads: readonly string[],
  rows: readonly (readonly [label: string, figures: readonly string[]])[],
  style: Style,
): string {
  const table = new Table({
    style: plainStyle,
    head: ["", ...heads.map((head) => style("bold", head))],
    colAligns: ["left", ...heads.map(() => "right" as const)],
  });
  for (const [label, figures] of rows) table.push([style("dim", label), ...figures]);
  return table.toString();
}

function longest(texts: readonly string[]): number {
  return Math.max(1, ...texts.map((text) => text.trim().length));
}

/** One row per thing, texts to the left; on a terminal, the widest columns are wrapped so that it fits. */
export function listTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  {
    style,
    columns = Number.POSITIVE_INFINITY,
  }: { readonly style: Style; readonly columns?: number | undefined },
): string {
  const natural = heads.map((head, at) => longest([head, ...rows.map((row) => row[at] ?? "")]));
  const table = new Table({
    style: plainStyle,
    head: heads.map((head) => style("bold", head)),
    wordWrap: true,
    // Keys and ids have no words.
    wrapOnWordBoundary: false,
    colWidths: fitted(natural, columns).map((width) => width + PADDING),
  });
  for (const row of rows) table.push([...row]);
  return table.toString();
}

const PADDING = 2;
const NARROWEST_COLUMN = 8;

/** Widths that fit together with their frames: the widest gives way first. */
function fitted(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width + PADDING + 1, 1);
  while (total() > columns) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= NARROWEST_COLUMN) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

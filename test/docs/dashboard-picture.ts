/**
 * Draws the dashboard from its JSON in the template: where each widget stands, its title, and what it shows. Lines in it
 * would be invented, so there are none. `node test/docs/dashboard-picture.ts` writes `docs/dashboard.svg`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain, resource, synthesise } from "../lib/synthesise.ts";

interface Widget {
  readonly type: "alarm" | "metric" | "text";
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly unknown[][];
  };
}

const SVG_PATH = join(import.meta.dirname, "../../docs/dashboard.svg");
/** Pixels of one unit of CloudWatch's grid. */
const UNIT = { x: 48, y: 30 };
const LINE = 18;
const colours = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"];

/** The dashboard of a deployment with one engine and two fleets, as SVG. */
export function dashboardPicture(): string {
  const template = synthesise({ engineUrl: "http://10.0.0.7:10086", fleets: { math: {}, search: {} } });
  const { DashboardBody } = plain(resource(template, "AWS::CloudWatch::Dashboard").Properties) as {
    DashboardBody: string;
  };
  const { widgets } = JSON.parse(DashboardBody) as { widgets: Widget[] };
  const height = Math.max(...widgets.map(({ y, height: own }) => y + own)) * UNIT.y;
  const size = `width="${24 * UNIT.x}" height="${height}"`;
  const style = 'font-family="sans-serif" font-size="13" fill="#16191f"';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n${widgets.map(draw).join("\n")}\n</svg>\n`;
}

function draw(widget: Widget): string {
  const { markdown, title = "" } = widget.properties;
  const [x, y] = [widget.x * UNIT.x, widget.y * UNIT.y];
  if (markdown !== undefined)
    return text(x + 8, y + 21, markdown.replace(/^#+ /, ""), 'font-size="17" font-weight="bold"');
  const [width, height] = [widget.width * UNIT.x - 8, widget.height * UNIT.y - 8];
  const box = `<rect x="${x + 4}" y="${y + 4}" width="${width}" height="${height}" rx="4" fill="#fff" stroke="#b6bec9"/>`;
  return [box, text(x + 16, y + 24, title, 'font-weight="bold"'), ...contents(widget, x, y)].join("\n");
}

function contents({ type, properties, height, width }: Widget, x: number, y: number): string[] {
  if (type === "alarm") return alarms(properties.alarms ?? [], x, y);
  const [bottom, right] = [y + (height - 1) * UNIT.y, x + (width - 0.5) * UNIT.x];
  const axes = `<path d="M${x + 20} ${y + 36}V${bottom - LINE}H${right}" fill="none" stroke="#b6bec9"/>`;
  return [axes, ...(properties.metrics ?? []).flatMap((metric) => labelOf(metric) ?? []).map(legend(x, y))];
}

function alarms(ids: readonly string[], x: number, y: number): string[] {
  const perRow = 5;
  return ids.slice(0, 4 * perRow).map((id, index) => {
    const name = id.replace(/^<(Fleet|Engine)(.*)Alarms(.*)\.Arn>$/, "$2 $3");
    const [column, row] = [index % perRow, Math.floor(index / perRow)];
    const at = { x: x + 24 + column * 225, y: y + 42 + row * 14 };
    return `<circle cx="${at.x}" cy="${at.y - 4}" r="4" fill="#1d8102"/>${text(at.x + 10, at.y, name, 'font-size="11"')}`;
  });
}

function legend(x: number, y: number) {
  return (label: string, index: number): string => {
    const at = y + 50 + index * LINE;
    const colour = colours[index % colours.length];
    return `<rect x="${x + 30}" y="${at - 9}" width="10" height="10" fill="${colour}"/>${text(x + 46, at, label)}`;
  };
}

/** Metrics that only others are computed from are not shown. */
function labelOf(metric: readonly unknown[]): string | undefined {
  const options = metric.findLast((part) => typeof part === "object" && part !== null);
  const { label, visible } = (options ?? {}) as { label?: string; visible?: boolean };
  return visible === false ? undefined : label?.replace(/\$\{PROP.*\}/, "ended, agent-error, deadline, …");
}

function text(x: number, y: number, words: string, attributes = ""): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" ${attributes}>${escaped}</text>`;
}

if (import.meta.main) writeFileSync(SVG_PATH, dashboardPicture());

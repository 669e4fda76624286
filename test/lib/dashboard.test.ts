import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dashboardPicture } from "../docs/dashboard-picture.ts";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

interface Widget {
  readonly type: string;
  readonly width: number;
  readonly properties: {
    readonly markdown?: string;
    readonly title?: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly unknown[];
  };
}

function widgets(settings?: Record<string, unknown>): Widget[] {
  const { DashboardBody } = plain(
    resource(synthesise(settings), "AWS::CloudWatch::Dashboard").Properties,
  ) as { DashboardBody: string };
  return (JSON.parse(DashboardBody) as { widgets: Widget[] }).widgets;
}

test("it answers, in this order", { timeout: 60_000 }, () => {
  const headings = widgets().flatMap(({ properties }) => properties.markdown ?? []);
  expect(headings).toEqual([
    "## Is the engine fed?",
    "## Is reward rising?",
    "## What fails, and why?",
    "## What waits?",
    "## How are the functions?",
    "## What does it cost?",
  ]);
});

test("the alarms stand above all", () => {
  const [first] = widgets();
  expect(first?.type).toBe("alarm");
  expect(first?.properties.alarms).toHaveLength(18);
});

test("each row fills the page", () => {
  const total = widgets().reduce((sum, { width }) => sum + width, 0);
  // The alarms, and of each of the six sections its heading and its graphs.
  expect(total).toBe(13 * 24);
});

test("every graph shows every fleet", () => {
  const shown = widgets({ engineUrl, fleets: { math: {}, hard: {} } })
    .filter(({ type }) => type === "metric")
    .map(({ properties }) => [properties.title, JSON.stringify(properties.metrics)] as const);
  const lacking = shown.filter(([, metrics]) => !(metrics.includes("math") && metrics.includes("hard")));
  // These are the engine's, and the table's.
  expect(lacking.map(([title]) => title)).toEqual([
    "Engine rolls (1) or not (0)",
    "Policy updates (global step)",
    "DynamoDB, write units",
  ]);
});

test("two deployments in one account do not mix: each looks at metrics under its own name", () => {
  const named = JSON.stringify(widgets({ engineUrl, stackName: "Rollouts" }));
  expect(named).toContain('"service","Rollouts"');
  expect(named).not.toContain('"service","Sortie"');
});

test("the picture in the documentation is of this dashboard", () => {
  const picture = readFileSync(join(import.meta.dirname, "../../docs/dashboard.svg"), "utf8");
  // Otherwise: node test/docs/dashboard-picture.ts
  expect(picture).toBe(dashboardPicture());
});

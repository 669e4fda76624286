/** Every metric that an alarm, the dashboard or the runbook names is one that the functions really publish. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { attemptMetrics, engineMetrics, fleetMetrics } from "../../functions/contract/metrics.ts";
import { createMeter, publishSnapshot, publishWaited } from "../../functions/meter.ts";
import { fleetOf, snapshotOf } from "../cli/samples.ts";
import { engineUrl, synthesise } from "./synthesise.ts";

/** `Name by dimension,dimension`. */
const emitted = new Set<string>();

beforeAll(() => {
  vi.stubEnv("POWERTOOLS_DEV", "true");
  vi.stubEnv("POWERTOOLS_METRICS_DISABLED", "false");
  vi.stubEnv("POWERTOOLS_SERVICE_NAME", "Sortie");
  vi.spyOn(console, "log").mockImplementation((line) => note(JSON.parse(String(line))));
  const meter = createMeter("main");
  const attempt = { episodeType: "train", reward: 1, milliseconds: 1000 } as const;
  meter.attempt({ ...attempt, reason: "ended" });
  meter.attempt({ ...attempt, reason: "unknown" });
  publishWaited("main", 60);
  publishSnapshot(snapshotOf({ fleets: { main: fleetOf() } }));
});
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

interface Line {
  readonly _aws: {
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly string[][];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
}
function note(line: Line): void {
  for (const { Namespace, Dimensions, Metrics } of line._aws.CloudWatchMetrics)
    for (const names of Dimensions)
      for (const { Name } of Metrics) emitted.add(named(Namespace, Name, names));
}

function named(namespace: string, name: string, dimensions: readonly string[]): string {
  return `${namespace} ${name} by ${dimensions.toSorted().join(",")}`;
}

interface Reference {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string }[];
}
function nameOf({ Namespace = "", MetricName = "", Dimensions = [] }: Reference): string {
  return named(
    Namespace,
    MetricName,
    Dimensions.map(({ Name }) => Name),
  );
}
const ours = (name: string) => name.startsWith("Sortie ");

const template = synthesise({ engineUrl });

test("alarms", () => {
  const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm"));
  const read = alarms.flatMap(({ Properties: { Metrics = [], ...own } }) => [
    nameOf(own as Reference),
    ...(Metrics as { MetricStat?: { Metric: Reference } }[]).flatMap(({ MetricStat }) =>
      MetricStat ? nameOf(MetricStat.Metric) : [],
    ),
  ]);
  const names = [...new Set(read)].filter(ours);
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !emitted.has(name))).toEqual([]);
});

test("the dashboard", () => {
  const [dashboard] = Object.values(template.findResources("AWS::CloudWatch::Dashboard"));
  const body = JSON.stringify(dashboard?.["Properties"].DashboardBody).replaceAll("\\", "");
  const drawn = [...body.matchAll(/\["Sortie","(\w+)",(.*?)[{\]]/g)].map(([, name = "", rest = ""]) =>
    named(
      "Sortie",
      name,
      [...rest.matchAll(/"(service|engine|fleet|reason)",/g)].map(([, one = ""]) => one),
    ),
  );
  const searched = [...body.matchAll(/SEARCH\('\{Sortie,([\w,]+)\} MetricName="(\w+)"/g)].map(
    ([, dimensions = "", name = ""]) => named("Sortie", name, dimensions.split(",")),
  );
  expect(drawn.length).toBeGreaterThan(8);
  expect(searched.length).toBeGreaterThan(0);
  expect([...drawn, ...searched].filter((name) => !emitted.has(name))).toEqual([]);
});

test("the contract names what is published, all of it and nothing else", () => {
  const contract = [
    ...engineMetrics.map((name) => named("Sortie", name, ["service", "engine"])),
    ...fleetMetrics.map((name) => named("Sortie", name, ["service", "fleet"])),
    ...attemptMetrics.map((name) => named("Sortie", name, ["service", "fleet", "reason"])),
  ];
  expect([...emitted].toSorted()).toEqual(contract.toSorted());
});

test("the runbook", () => {
  const page = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
  const known = new Set<string>([...engineMetrics, ...fleetMetrics, ...attemptMetrics, "SettingsError"]);
  const read = [...page.matchAll(/`([A-Z][a-z]+[A-Z]\w*)`/g)].map(([, name = ""]) => name);
  expect(read).toContain("WaitedSeconds");
  expect(read.filter((name) => !known.has(name))).toEqual([]);
});

/**
 * What CloudWatch makes of an alarm's definition and of datapoints, as its guide describes it ("Evaluating an alarm",
 * "Configuring how CloudWatch alarms treat missing data", "Using metric math"). Periods are whole minutes.
 */
import { runInNewContext } from "node:vm";

export interface Datapoint {
  /** Minutes. */
  readonly at: number;
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly value: number;
}

interface MetricOf {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}
interface Query {
  readonly Id: string;
  readonly Expression?: string;
  readonly MetricStat?: { readonly Metric: MetricOf; readonly Period: number; readonly Stat: string };
}
/** Properties of an `AWS::CloudWatch::Alarm`. */
export type AlarmDefinition = Partial<MetricOf> & {
  readonly Metrics?: readonly Query[];
  readonly Period?: number;
  readonly Statistic?: string;
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
};

const comparisons: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
};
/** More periods are looked at than are evaluated, so that datapoints which come late are not taken for missing. */
const LOOKED_AT_BESIDE = 2;

/** Whether the alarm is on, at the end of a minute, by all that was published until then. */
export function isOn(alarm: AlarmDefinition, data: readonly Datapoint[], minute: number): boolean {
  const period = periodOf(alarm);
  const { EvaluationPeriods: evaluated } = alarm;
  const newest = Math.floor(minute / period) - 1;
  const windows = Array.from({ length: evaluated + LOOKED_AT_BESIDE }, (_, back) => (newest - back) * period);
  const values = windows.filter((start) => start >= 0).map((start) => valueIn(alarm, data, start, period));
  const real = values.filter((value) => value !== undefined).slice(0, evaluated);
  const missing = evaluated - real.length;
  const compare = comparisons[alarm.ComparisonOperator];
  if (!compare)
    throw new Error(`expected a comparison that is known here, found ${alarm.ComparisonOperator}`);
  const breaching = real.filter((value) => compare(value, alarm.Threshold)).length;
  return breaching + (breachesByMissing(alarm) ? missing : 0) >= (alarm.DatapointsToAlarm ?? evaluated);
}

/** The minutes at whose end the alarm is on, from the first on at which all of its periods lie behind. */
export function minutesOn(alarm: AlarmDefinition, data: readonly Datapoint[], until: number): number[] {
  const first = alarm.EvaluationPeriods * periodOf(alarm);
  return Array.from({ length: until - first + 1 }, (_, index) => first + index).filter((minute) =>
    isOn(alarm, data, minute),
  );
}

function breachesByMissing({ TreatMissingData: treat }: AlarmDefinition): boolean {
  if (treat !== "breaching" && treat !== "notBreaching") throw new Error(`found ${treat} missing data`);
  return treat === "breaching";
}

function periodOf({ Period: own, Metrics = [] }: AlarmDefinition): number {
  const periods = new Set([own, ...Metrics.map(({ MetricStat }) => MetricStat?.Period)]);
  periods.delete(undefined);
  const [period = 0, ...others] = periods;
  // With several, CloudWatch takes the longest for the expression; nothing here needs that.
  if (others.length > 0 || period % 60 !== 0) throw new Error(`expected one period, found ${[...periods]}`);
  return period / 60;
}

function valueIn(
  alarm: AlarmDefinition,
  data: readonly Datapoint[],
  start: number,
  period: number,
): number | undefined {
  const within = data.filter(({ at }) => at >= start && at < start + period);
  if (!alarm.Metrics) return statistic(alarm.Statistic ?? "", matching(alarm as MetricOf, within));
  const scope: Record<string, number | undefined> = {};
  for (const { Id, MetricStat } of alarm.Metrics)
    if (MetricStat) scope[Id] = statistic(MetricStat.Stat, matching(MetricStat.Metric, within));
  const [expression] = alarm.Metrics.flatMap(({ Expression }) => Expression ?? []);
  return evaluated(expression ?? "", scope);
}

function matching(
  { Namespace, MetricName, Dimensions = [] }: MetricOf,
  data: readonly Datapoint[],
): number[] {
  const wanted = JSON.stringify(Dimensions.map(({ Name, Value }) => [Name, Value]).toSorted());
  return data
    .filter(({ namespace, name, dimensions }) => {
      const found = JSON.stringify(Object.entries(dimensions).toSorted());
      return namespace === Namespace && name === MetricName && found === wanted;
    })
    .map(({ value }) => value);
}

function statistic(name: string, values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  if (name === "Minimum") return Math.min(...values);
  if (name === "Maximum") return Math.max(...values);
  if (name === "SampleCount") return values.length;
  if (name === "Sum") return values.reduce((sum, value) => sum + value, 0);
  throw new Error(`expected a statistic that is known here, found ${name}`);
}

/** Where a metric that the expression names has no value at this time, the expression has none either. */
function evaluated(
  expression: string,
  scope: Readonly<Record<string, number | undefined>>,
): number | undefined {
  const named = Object.keys(scope).filter((id) => new RegExp(String.raw`\b${id}\b`).test(expression));
  if (named.some((id) => scope[id] === undefined)) return undefined;
  const script = expression
    .replaceAll("IF(", "choose(")
    .replaceAll(" AND ", " && ")
    .replaceAll(" == ", " === ");
  const choose = (condition: boolean, yes: number, no: number) => (condition ? yes : no);
  return Number(runInNewContext(script, { ...scope, choose }));
}

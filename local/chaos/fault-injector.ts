/** Injects the planned faults that strike requests, at the three proxies. */
import { unreadablePool } from "../engine/views.ts";
import { Armed } from "./armed.ts";
import type { Killer } from "./killer.ts";
import type { FaultKind, KillPoint, Side, Tally } from "./kinds.ts";
import type { Plan, RequestFault } from "./plan.ts";
import type { Before, Interceptor, ProxyRequest } from "./proxy.ts";
import { proxyAnswers } from "./proxy-answers.ts";
import { heartbeatOf, operation, receiptOf, type Seen, StepReader } from "./steps.ts";

/** Longer than most of the clients' limits, shorter than a function's time. */
const HANG_MS = 12_000;
/** Longer than the SDK repeats a request by itself. */
const HEARTBEAT_REFUSED_MS = 2000;
const awsErrors = {
  throttle:
    '{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"over capacity"}',
  internal: '{"__type":"com.amazon.coral.service#InternalServerError","message":"injected"}',
};

/** Unix ms. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface SaboteurParts {
  readonly plan: Plan;
  readonly tally: Tally;
  /** The functions exist only after the proxies do. */
  readonly killer: () => Killer | undefined;
  /** Makes an in-flight message visible at once. */
  readonly redeliver: (receipt: string) => void;
}

export class FaultInjector {
  readonly engine: Interceptor;
  readonly table: Interceptor;
  readonly queue: Interceptor;
  /** Until then (unix ms) the table refuses everything. */
  #throttled: { readonly kind: FaultKind; readonly until: number } | undefined;
  /** By the key of an invocation's item: until when its heartbeats are refused. */
  /** When the table or the engine was away, unix ms. */
  readonly outages: Outage[] = [];
  readonly #heartbeats = new Map<string, number>();
  readonly #parts: SaboteurParts;
  readonly #steps = new StepReader();
  readonly #kills: Armed<KillPoint>;
  readonly #sweepKills: Armed<Side>;
  readonly #redeliveries: Armed<"stored">;
  #stopped = false;

  constructor(parts: SaboteurParts) {
    const { plan } = parts;
    this.#parts = parts;
    this.#kills = new Armed(plan.kills, (point) => point);
    this.#sweepKills = new Armed(plan.sweepKills, (side) => side);
    this.#redeliveries = new Armed(
      plan.redeliveries.map((nth) => ({ what: "stored", nth })),
      () => "stored",
    );
    const faults = { engine: armed(plan.engine), table: armed(plan.table), queue: armed(plan.queue) };
    this.engine = this.#interceptor("engine", faults.engine, (request) => request.path);
    this.table = this.#interceptor("table", faults.table, operation);
    this.queue = this.#interceptor("queue", faults.queue, operation);
  }

  /** From now on everything passes. */
  stop(): void {
    this.#stopped = true;
    this.#throttled = undefined;
  }

  /** From now on the table refuses everything for so long. */
  throttle(kind: "table-throttle" | "table-away", ms: number): void {
    const from = Date.now();
    this.#throttled = { kind, until: Math.max(from + ms, this.#throttled?.until ?? 0) };
    this.outages.push({ from, to: from + ms });
  }

  #interceptor(
    server: "engine" | "table" | "queue",
    faults: Armed<RequestFault>,
    callOf: (request: ProxyRequest) => string | undefined,
  ): Interceptor {
    const afterwards = new WeakSet<ProxyRequest>();
    return {
      before: (request) => {
        const seen = this.#steps[server](request);
        if (this.#stopped) return "pass";
        if (seen && this.#killAt("before", seen)) return "close";
        if (server === "engine") this.#killSweepAt("before", request);
        const refused = this.#refusedByTable(server, request);
        if (refused) return refused;
        const fault = faults.happens(callOf(request) ?? "");
        if (!fault) return "pass";
        this.#parts.tally.add(fault.kind);
        if (fault.kind.endsWith("close-after")) afterwards.add(request);
        return verdictOf(fault.kind);
      },
      after: (request, reply) => {
        if (server === "engine") this.#steps.noteClaim(request, reply);
        if (this.#stopped) return "pass";
        const seen = this.#steps[server](request);
        if (seen && reply.status < 300 && this.#killAt("after", seen)) return "close";
        if (server === "engine") this.#killSweepAt("after", request);
        if (seen?.step === "store-episode" && reply.status === 200) this.#redeliver(request);
        return afterwards.has(request) ? "close" : "pass";
      },
    };
  }

  #refusedByTable(server: string, request: ProxyRequest): Before | undefined {
    if (server !== "table") return undefined;
    const now = Date.now();
    const kind =
      this.#throttled && now < this.#throttled.until
        ? this.#throttled.kind
        : this.#firstHeartbeat(request, now);
    if (kind === undefined) return undefined;
    this.#parts.tally.add(kind);
    return { answer: awsAnswer(400, awsErrors.throttle) };
  }

  #firstHeartbeat(request: ProxyRequest, now: number): FaultKind | undefined {
    const invocation = this.#parts.plan.firstHeartbeats ? heartbeatOf(request) : undefined;
    if (invocation === undefined) return undefined;
    const until = this.#heartbeats.get(invocation) ?? now + HEARTBEAT_REFUSED_MS;
    this.#heartbeats.set(invocation, until);
    return now < until ? "table-first-heartbeat" : undefined;
  }

  #killAt(side: Side, { step, invocation }: Seen): boolean {
    const killer = this.#parts.killer();
    const point = this.#kills.happens(`${side}-${step}`, () => killer?.runs(invocation) === true);
    if (!point || !killer?.killInvocation(invocation, `kill-${point}`)) return false;
    this.#parts.tally.add(`kill-${point}`);
    return true;
  }

  /** An end or abort on behalf of an invocation that is dead comes from the sweep, or from the next delivery. */
  #killSweepAt(side: Side, request: ProxyRequest): void {
    if (!/^\/(end|abort)_episode$/.test(request.path)) return;
    const killer = this.#parts.killer();
    const invocation = this.#steps.engine({ ...request, path: "/end_episode" })?.invocation;
    if (!killer || invocation === undefined || killer.runs(invocation)) return;
    if (!this.#sweepKills.happens(side, () => killer.lifecycleRuns())) return;
    if (killer.killLifecycle("kill-sweep")) this.#parts.tally.add("kill-sweep");
  }

  #redeliver(request: ProxyRequest): void {
    const receipt = receiptOf(request);
    if (receipt === undefined || !this.#redeliveries.happens("stored")) return;
    this.#parts.tally.add("queue-delivered-twice");
    this.#parts.redeliver(receipt);
  }
}

function armed(faults: Plan["engine"]): Armed<RequestFault> {
  return new Armed(faults, ({ call }) => call);
}

function verdictOf(kind: FaultKind): Before {
  const ofProxy = proxyAnswers[kind];
  if (ofProxy !== undefined) return { answer: ofProxy };
  if (kind === "engine-hang") return { hangMs: HANG_MS };
  if (kind === "engine-default-pool")
    return {
      answer: { status: 200, text: JSON.stringify(unreadablePool), contentType: "application/json" },
    };
  if (kind === "engine-500" || kind === "engine-buffer-500")
    return {
      answer: { status: 500, text: "Internal Server Error", contentType: "text/plain; charset=utf-8" },
    };
  if (kind === "engine-garbage")
    return { answer: { status: 200, text: "<html>sign in first</html>", contentType: "text/html" } };
  if (kind === "table-500" || kind === "queue-500") return { answer: awsAnswer(500, awsErrors.internal) };
  return kind.endsWith("close-before") ? "close" : "pass";
}

function awsAnswer(status: number, text: string) {
  return { status, text, contentType: "application/x-amz-json-1.0" };
}

/** Every kind of fault by its name. `--faults` takes names, or the part before their first hyphen. */

/** The steps of a rollout that a request shows, in their order. */
export const steps = [
  "claim",
  "store-episode",
  "model-call",
  "store-result",
  "end",
  "record",
  "delete",
] as const;
export type Step = (typeof steps)[number];
/** Right before a step's request reaches its server, or right after, before the answer reaches the function. */
export type Side = "before" | "after";
export type KillPoint = `${Side}-${Step}`;
export const killPoints: readonly KillPoint[] = steps.flatMap((step): KillPoint[] => [
  `before-${step}`,
  `after-${step}`,
]);

export const faultKinds = {
  ...(Object.fromEntries(
    killPoints.map((point) => [
      `kill-${point}`,
      `a function's process dies right ${point.replaceAll("-", " ")}`,
    ]),
  ) as Record<`kill-${KillPoint}`, string>),
  "kill-random": "a busy function's process dies at a random moment",
  "kill-waiting": "… while its rollouts wait for the engine, which syncs weights",
  "kill-lifecycle": "the lifecycle function's process dies in the middle of a tick",
  "kill-sweep": "… right before or after it settles somebody's episode",
  "engine-refusing": "the engine's port refuses connections for a while",
  "engine-hang": "the engine neither acts nor answers",
  "engine-500": "the engine answers 500 without acting",
  "engine-garbage": "the engine answers HTML with status 200",
  "engine-close-before": "the engine closes the connection without acting",
  "engine-close-after": "the engine acts and closes the connection without an answer",
  "engine-restart-kept": "the engine restarts with its state",
  "engine-restart-lost": "the engine restarts without its state",
  "engine-sync": "the engine syncs weights in the middle of episodes",
  "engine-slow-end": "the trainer acknowledges ends later than the client waits",
  "engine-slow-abort": "the engine takes longer over aborts than the client waits",
  "engine-default-pool": "the engine fails to build its pool: status 200 with every field at its default",
  "engine-buffer-500": "… and its list of episodes answers 500",
  "engine-cut-ends": "the engine syncs weights while ends wait for the trainer, which never gets them",
  "engine-crash": "the trainer dies: OFFLINE with step 0 a moment later, until somebody starts it again",
  "engine-stopped": "somebody stops the engine, and starts it again",
  "engine-proxy-429": "a limiter in front of the engine answers 429",
  "engine-proxy-429-told": "… and says when to come again",
  "engine-proxy-503-told": "a load balancer in front of the engine answers 503, and says when to come again",
  "engine-proxy-502": "… answers 502",
  "engine-proxy-401": "a token proxy in front of the engine answers 401, in FastAPI's form",
  "engine-proxy-403": "… answers 403 with a page of its own",
  "engine-proxy-404": "… answers 404 with a page of its own",
  "engine-proxy-302": "… redirects to a page where one signs in",
  "engine-proxy-empty": "… answers 200 with nothing",
  "engine-proxy-json": "… answers 200 with JSON of its own",
  "engine-token":
    "a proxy in front of the engine asks for a token, which is replaced in the middle of the run",
  "table-throttle": "the table refuses every request for a while, as over its capacity",
  "table-away": "… for a minute, as the heartbeats count it",
  "table-first-heartbeat": "the table refuses the first heartbeat of every invocation",
  "table-500": "the table answers 500 without acting",
  "table-close-after": "the table acts and closes the connection without an answer",
  "queue-500": "the queue answers 500 without acting",
  "queue-close-after": "the queue acts and closes the connection without an answer",
  "queue-pushed-twice": "a message is sent twice",
  "queue-late": "a message becomes visible late",
  "queue-shuffled": "messages arrive in another order",
  "queue-invalid": "a message that is no rollout",
  "queue-redrive-unanswered":
    "an operator sends a message without a run again, and the queue's answer is lost",
  "queue-delivered-twice": "a message is delivered again while its rollout is running",
  "clock-off": "the clock of each process is off, by up to five minutes either way",
  "agent-hang": "an agent never returns",
  "agent-ignore": "an agent goes on calling the model, whatever its signal says",
  "agent-throw": "an agent throws",
  "agent-garbage": "an agent returns what is no output",
  "agent-block": "an agent blocks its thread, where nothing can interrupt it",
  "agent-slow": "an agent takes its time between two calls",
  "agent-no-call": "an agent returns a reward without having called the model",
  "agent-exit": "an agent ends its process",
  "agent-spin": "an agent never gives the event loop back",
  "agent-bloat": "an agent takes memory until there is none left",
  "agent-service-killed": "the service that agents run in dies, and starts again",
  "agent-service-hang": "… neither answers nor closes a connection for a while",
  "agent-function-killed": "the process of an agent's own function dies",
  "agent-reject": "an agent leaves a storm of rejected promises behind that nobody handles",
} as const satisfies Record<string, string>;
export type FaultKind = keyof typeof faultKinds;

export const allKinds = Object.keys(faultKinds) as FaultKind[];

/** The kinds that a list such as `kill,engine-hang` names; all for `all`, none for `none`. @throws RangeError */
export function kindsNamed(list: string): FaultKind[] {
  if (list === "all") return allKinds;
  if (list === "none") return [];
  const named = list.split(",").map((part) => part.trim());
  const unknown = named.filter((name) => kindsOf(name).length === 0);
  if (unknown.length > 0)
    throw new RangeError(
      `unknown kind of fault: ${unknown.join(", ")}. Expected all, none, one of the groups kill, engine, table, queue, ` +
        `clock, agent, or names: ${allKinds.join(", ")}.`,
    );
  return [...new Set(named.flatMap(kindsOf))];
}

function kindsOf(name: string): FaultKind[] {
  return allKinds.filter((kind) => kind === name || kind.startsWith(`${name}-`));
}

/** How often each kind was injected. */
export class Tally {
  readonly #counts = new Map<FaultKind, number>();

  add(kind: FaultKind, times = 1): void {
    this.#counts.set(kind, this.of(kind) + times);
  }
  of(kind: FaultKind): number {
    return this.#counts.get(kind) ?? 0;
  }
  /** In the order of `faultKinds`. */
  counts(): [FaultKind, number][] {
    return allKinds
      .map((kind) => [kind, this.of(kind)] as [FaultKind, number])
      .filter(([, count]) => count > 0);
  }
}

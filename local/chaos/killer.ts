/** Kills processes of the functions, as a failing host would, and remembers whom. */
import type { Random } from "../../functions/core/clock.ts";
import type { LambdaFunction } from "../lambda/function.ts";
import { pick } from "../random.ts";
import type { FaultKind } from "./kinds.ts";

export interface Kill {
  /** Unix ms. */
  readonly at: number;
  readonly kind: FaultKind;
  /** The Lambda request id that the process was working on. */
  readonly invocation: string;
}

export class Killer {
  readonly kills: Kill[] = [];
  readonly #rollouts: readonly LambdaFunction[];
  readonly #lifecycles: readonly LambdaFunction[];
  readonly #agents: readonly LambdaFunction[];

  constructor(functions: {
    rollouts: readonly LambdaFunction[];
    lifecycles: readonly LambdaFunction[];
    agents?: readonly LambdaFunction[];
  }) {
    this.#agents = functions.agents ?? [];
    this.#rollouts = functions.rollouts;
    this.#lifecycles = functions.lifecycles;
  }

  runs(invocation: string): boolean {
    return busy(this.#rollouts).some(({ requestId }) => requestId === invocation);
  }

  /** Kills the process that runs this invocation; false where none does. */
  killInvocation(invocation: string, kind: FaultKind): boolean {
    return this.#kill(
      busy(this.#rollouts).find(({ requestId }) => requestId === invocation),
      kind,
    );
  }

  killRandom(random: Random, kind: "kill-random" | "kill-waiting"): boolean {
    const candidates = busy(this.#rollouts);
    return candidates.length > 0 && this.#kill(pick(random, candidates), kind);
  }

  /** Kills the process of an agent's own function: no rollout function dies of it. */
  killAgent(random: Random): boolean {
    const candidates = busy(this.#agents);
    if (candidates.length === 0) return false;
    const { lambda, pid } = pick(random, candidates);
    return lambda.kill(pid);
  }

  lifecycleRuns(): boolean {
    return busy(this.#lifecycles).length > 0;
  }

  killLifecycle(kind: "kill-lifecycle" | "kill-sweep"): boolean {
    return this.#kill(busy(this.#lifecycles)[0], kind);
  }

  #kill(victim: ReturnType<typeof busy>[number] | undefined, kind: FaultKind): boolean {
    if (!victim?.lambda.kill(victim.pid)) return false;
    this.kills.push({ at: Date.now(), kind, invocation: victim.requestId });
    return true;
  }
}

function busy(functions: readonly LambdaFunction[]) {
  return functions.flatMap((lambda) =>
    lambda
      .processes()
      .flatMap(({ pid, requestId }) => (requestId === undefined ? [] : [{ lambda, pid, requestId }])),
  );
}

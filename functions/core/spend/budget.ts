/** A fleet whose estimated spend of the day has reached its budget is paused until the day is over. */

import type { GateState, GateStore } from "../circuit/gate.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { ALL_TIME, dayOf, estimateUsd, type UsageStore } from "./spend.ts";

export interface BudgetPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly gates: GateStore;
  readonly usage: UsageStore;
}

export interface Spend {
  readonly usd_today: number;
  readonly usd_total: number;
  readonly budget_usd_per_day: number | null;
  readonly budget_exceeded: boolean;
}

export async function readSpend(
  ports: Pick<BudgetPorts, "clock" | "usage">,
  fleet: string,
  budget: number | undefined,
): Promise<Spend> {
  const [today, total] = await Promise.all([
    ports.usage.read(fleet, dayOf(ports.clock.now())),
    ports.usage.read(fleet, ALL_TIME),
  ]);
  const usdToday = estimateUsd(today);
  return {
    usd_today: usdToday,
    usd_total: estimateUsd(total),
    budget_usd_per_day: budget ?? null,
    budget_exceeded: budget !== undefined && usdToday >= budget,
  };
}

/** Pauses or resumes on behalf of the budget; a pause that somebody asked for is left alone. */
export async function keepBudget(
  ports: BudgetPorts,
  fleet: string,
  spend: Spend,
  gate: GateState,
): Promise<void> {
  const pausedByBudget = gate.paused?.by === "budget";
  if (spend.budget_exceeded && !gate.paused) {
    const why = `the budget of $${spend.budget_usd_per_day} a day is spent (about $${spend.usd_today.toFixed(2)}); goes on at 00:00 UTC`;
    ports.log("error", "fleet paused by its budget", { fleet, why });
    await ports.gates.setBudgetPause(fleet, { at: ports.clock.now(), why, by: "budget" });
  } else if (!spend.budget_exceeded && pausedByBudget) {
    ports.log("info", "fleet resumed: its budget allows it again", { fleet });
    await ports.gates.setBudgetPause(fleet, undefined);
  }
}

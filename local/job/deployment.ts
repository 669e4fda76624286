/** What the job needs of a running system, read from the environment that the template gives its functions. */
import { rolloutVariables as variables } from "../../functions/contract/environment-names.ts";
import type { System } from "../system.ts";

export interface LocalFleet {
  readonly name: string;
  readonly engine: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly table: string;
  readonly rolloutTtlDays: number;
}

export function fleetsOf(system: System): LocalFleet[] {
  return [...system.wiring.functions.values()]
    .map(({ environment }) => environment)
    .filter((environment) => environment[variables.fleet] !== undefined)
    .map((environment) => ({
      name: needed(environment, variables.fleet),
      engine: needed(environment, variables.engine),
      queueUrl: needed(environment, variables.queueUrl),
      deadLetterQueueUrl: needed(environment, variables.deadLetterQueueUrl),
      table: needed(environment, variables.table),
      rolloutTtlDays: Number(needed(environment, variables.rolloutTtlDays)),
    }));
}

function needed(environment: Readonly<Record<string, string>>, name: string): string {
  const value = environment[name];
  if (value === undefined)
    throw new Error(`expected ${name} in a rollout function's environment, found none`);
  return value;
}

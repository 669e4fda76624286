/**
 * An engine may be given another name, and a fleet another engine. What was open at that moment stands under the old name:
 * the sweep and the snapshot of the new one look there too, for the fleets that they have now.
 */
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { LifecycleStore } from "./take-snapshot.ts";

export interface EngineNames {
  /** Notes that the fleet is this engine's now; resolves to all names that were ever noted for it. */
  note(fleet: string, engine: string): Promise<readonly string[]>;
}

export interface FormerPorts {
  readonly names: EngineNames;
  readonly store: LifecycleStore;
  readonly log: Log;
}

/** The store, in which an engine's name stands for the former ones of its fleets as well. */
export function withFormerEngines(ports: FormerPorts, fleets: readonly string[]): LifecycleStore {
  const { store } = ports;
  const namesOf = rememberedNames(ports, fleets);
  const isOurs = ({ fleet }: { fleet: string }) => fleets.includes(fleet);
  /** Under a former name, others may have gone on: their fleets are not ours. */
  const all = async <T extends { fleet: string }>(engine: string, read: (name: string) => Promise<T[]>) => {
    const found = await Promise.all((await namesOf(engine)).map(read));
    const [own = [], ...former] = found;
    return [...own, ...former.flat().filter(isOurs)];
  };
  return {
    ...store,
    openRollouts: (engine) => all(engine, (name) => store.openRollouts(name)),
    unconfirmed: async (engine, limit) =>
      (await all(engine, (name) => store.unconfirmed(name, limit))).slice(0, limit),
  };
}

/** The engine's own name first. Read once; where they cannot be read, the own name has to do until the next try. */
function rememberedNames({ names, log }: FormerPorts, fleets: readonly string[]) {
  const known = new Map<string, readonly string[]>();
  return async (engine: string): Promise<readonly string[]> => {
    const before = known.get(engine);
    if (before !== undefined) return before;
    try {
      const noted = await Promise.all(fleets.map((fleet) => names.note(fleet, engine)));
      const all = [...new Set([engine, ...noted.flat()])];
      known.set(engine, all);
      return all;
    } catch (error) {
      log("warn", "former names of the engine could not be read", { error: describeError(error, 300) });
      return [engine];
    }
  };
}

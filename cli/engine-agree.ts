/** Weight syncs that wait for the clients to agree: configs that could only hang, and agreeing by hand. */
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { createEngineStateStore, setAgreeRequest } from "../functions/adapters/table/engine-state.ts";
import { asksForAgreement } from "../functions/core/agreement.ts";
import { isRolling } from "../functions/core/rollout/locate-episode.ts";
import { configFacts } from "./engine-config.ts";
import { CommandFailure } from "./failures.ts";
import { type Io, printJson } from "./io.ts";

/** What the engine would wait for, in vain; undefined where its weight syncs need nobody, or a rule agrees to them. */
export function hangsWithout(method: string | undefined, agreeAfter: object | undefined): string | undefined {
  if (method === undefined || !asksForAgreement(method) || agreeAfter !== undefined) return undefined;
  return (
    `its weights sync only when clients agree (${method}), and the engine's setting agreeAfter, by which Sortie does, is ` +
    "not there: it could only hang"
  );
}

/** @throws CommandFailure where nobody would ever agree to a weight sync */
export async function refuseHanging(
  table: TableOptions,
  options: { readonly engine: string; readonly config: string; readonly byHand: boolean },
): Promise<void> {
  if (options.byHand) return;
  const observed = await createEngineStateStore(table).readObserved(options.engine);
  const fault = hangsWithout(configFacts(options.config).collectionMethod, observed?.agree_after);
  if (fault === undefined) return;
  throw new CommandFailure(
    `expected a config that Sortie can train with, found that ${fault}; set engines.${options.engine}.agreeAfter and deploy ` +
      "(a new deployment says so a minute later), or take another swarm_mode_sample_collection_method, or agree to each step " +
      "by hand (--agree-by-hand, then sortie engine agree); nothing was changed",
  );
}

/** `sortie engine agree`: @throws CommandFailure where the engine does not roll */
export async function agree(
  table: TableOptions,
  { engine, json }: { readonly engine: string; readonly json?: boolean | undefined },
  io: Io,
): Promise<void> {
  const observed = await createEngineStateStore(table).readObserved(engine);
  const step = observed?.global_step ?? undefined;
  if (!observed || observed.unreachable || !isRolling(observed.status) || step === undefined) {
    const found = observed?.unreachable
      ? "that it cannot be reached"
      : (observed?.status ?? "that nobody has looked yet");
    throw new CommandFailure(`expected engine ${engine} to roll, found ${found}: agree once it does`);
  }
  await setAgreeRequest(table, engine, { step, at: io.now() });
  if (json) printJson(io, { engine, step });
  else
    io.out(
      `Engine ${engine}: asked for the weight sync of step ${step}. The lifecycle function agrees within a minute, in the name of each fleet that has ended an episode in this step.\n`,
    );
}

/** The calls that only newer engines have: agreement to a weight sync, the trainer's code, folders and lines. */
import { type Answer, ok, Refusal, success } from "./answers.ts";
import type { agreeBody, verboseLogBody } from "./bodies.ts";
import type { EngineState } from "./engine.ts";
import type { Checked } from "./validation.ts";
import { codeFault, namesInZip } from "./zip.ts";

/** The engine's terminal shows a line for so long, s. */
const SHOWN_SECONDS = 30;

/** @throws Error, a 500, under a collection method that asks nobody */
export function agreeSyncWeight(engine: EngineState, body: Checked<typeof agreeBody>): Answer {
  const { method } = engine.targets();
  if (!/_agree_sync_weight$/.test(method)) throw new Error(`nobody has to agree under ${method}`);
  if (!engine.clients.agree(body.client_uuid, engine.clock.now()))
    return success(false, `Client ${body.client_uuid} is not in the list of active clients.`);
  for (const trainer of engine.trainers) trainer.finishIfEnough();
  return success();
}

/** Keeps the names of the files, no more: nothing here runs them. */
export function syncTrainCode(engine: EngineState, zip: Buffer): Answer {
  if (engine.status !== "ENGINE.OFFLINE") {
    const advice = "Call `stop_engine` first before syncing new training code.";
    throw new Refusal(400, `Engine is already started. ${advice}`);
  }
  const names = namesInZip(zip);
  const fault = codeFault(names);
  if (names === undefined || fault !== undefined) throw new Refusal(400, fault);
  engine.trainCode = names;
  const path = `./ajet_temp/${engine.clock.now()}/ajet`;
  return ok({ success: true, message: "Training code synced.", temp_ajet_code_path: path });
}

export function experimentDir(engine: EngineState): Answer {
  return ok({ server_experiment_dir: engine.experimentDir });
}

export function pushVerboseLog(
  engine: EngineState,
  { tag, message }: Checked<typeof verboseLogBody>,
): Answer {
  engine.lines.push({ timestamp: engine.clock.now() / 1000, tag, message });
  return success();
}

export function verboseLogs(engine: EngineState): Answer {
  const since = engine.clock.now() / 1000 - SHOWN_SECONDS;
  engine.lines = engine.lines.filter(({ timestamp }) => timestamp > since);
  return ok({ entries: engine.lines });
}

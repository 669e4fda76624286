/**
 * What somebody wants of an engine (desired, set by people), and what the lifecycle function knows of it (observed).
 * Times are unix ms.
 */
import * as z from "zod";
import type { AgreeRule } from "../agreement.ts";
import { codeSchema } from "./engine-code.ts";

const generation = z.number().int().min(1);
const setBy = { set_at: z.number(), set_by: z.string().optional() };
const wantedRunning = z.object({
  v: z.literal(1),
  state: z.literal("running"),
  /** The training config as YAML text, sent as it is. */
  config: z.string().min(1),
  /** `configHash` of the config: what was checked when it was stored. */
  hash: z.string().min(1),
  /** The trainer's code, sent before the config at each start; absent: what the engine has. */
  code: codeSchema.optional(),
  /** Rises with each change of the desired state: failures are counted for one generation alone. */
  generation,
  /** Steps that the config trains for (`ajet.trainer_common.total_training_steps`); absent where it does not say. */
  total_steps: z.number().int().positive().optional(),
  /** Id of the newest request to restart: stop first, whatever runs. */
  restart: z.string().optional(),
  ...setBy,
});
const wantedStopped = z.object({ v: z.literal(1), state: z.literal("stopped"), generation, ...setBy });

/** Absent: Sortie only watches. */
export const desiredSchema = z.discriminatedUnion("state", [wantedRunning, wantedStopped]);
export type Desired = z.infer<typeof desiredSchema>;
export type WantedRunning = z.infer<typeof wantedRunning>;

/**
 * A `start_engine` of ours, recorded before it is sent, kept until what it started is gone. While `answer` is none or
 * unclear and `seen` nothing, the call may still arrive, up to `until`: no other start may be sent.
 */
const startSchema = z.object({
  generation,
  hash: z.string(),
  /** SHA-256 of the code that was sent before it. */
  code: z.string().optional(),
  at: z.number(),
  until: z.number(),
  answer: z.enum(["none", "accepted", "refused", "unclear"]),
  /** The furthest that the engine was seen to come since. */
  seen: z.enum(["nothing", "booting", "up"]),
  /** The engine's step when it was first seen up; a higher one later is a policy update. */
  first_step: z.number().nullable(),
  /** It has brought a policy update: its end is no failed start. */
  updated: z.boolean(),
  /** The config's `total_steps`. */
  total_steps: z.number().optional(),
});
export type StartRecord = z.infer<typeof startSchema>;

/** A training process from the first look that saw it to its end, whoever started it. */
const runSchema = z.object({
  /** Since when it is known to run without a stop of ours that could still reach it. */
  began: z.number(),
  first_step: z.number().nullable(),
  /** The newest step that was seen. */
  step: z.number().nullable(),
  /** When that step was first seen. */
  step_at: z.number(),
  /** Its step has risen: it has brought a policy update. */
  updated: z.boolean(),
});
export type TrainingRun = z.infer<typeof runSchema>;

/**
 * What was made of the engine's last end. It says OFFLINE with step 0 after every one: `finished` the last step seen
 * was the config's last; `stopped` Sortie stopped it, or that was wanted; `crashed` everything else; `not-started` a
 * start of ours never arrived.
 */
const conclusionSchema = z.object({
  what: z.enum(["finished", "stopped", "crashed", "not-started"]),
  why: z.string(),
  at: z.number(),
});
export type Conclusion = z.infer<typeof conclusionSchema>;

export const alarmCodes = [
  "unreachable",
  "start-failed",
  "crashed",
  "gave-up",
  "boot-stalled",
  "stalled",
  "config-differs",
  "desired-unreadable",
  "call-failed",
] as const;
const alarmSchema = z.object({ code: z.enum(alarmCodes), since: z.number(), text: z.string() });
export type Alarm = z.infer<typeof alarmSchema>;
export type AlarmCode = Alarm["code"];

/** `none`: all is well, or nothing may be done. `wait`: it will be done in a later tick. */
const stepSchema = z.object({ kind: z.enum(["none", "wait", "start", "stop"]), reason: z.string() });
export type Step = z.infer<typeof stepSchema>;

const failureSchema = z.object({ at: z.number(), text: z.string() });

export const observedSchema = z.object({
  v: z.literal(1),
  /** Rises with each write, which names the version that it leaves. */
  version: z.number(),
  /** The fencing token of the tick that wrote this. */
  token: z.number(),
  looked_at: z.number(),
  /** The engine's last own words; while it cannot be reached, `unreachable` stands beside them. */
  status: z.string(),
  detail: z.string().nullable(),
  global_step: z.number().nullable(),
  /** When that status was first seen without another in between. */
  since: z.number(),
  unreachable: z
    .object({ count: z.number(), since: z.number(), look_again_at: z.number(), detail: z.string() })
    .optional(),
  /** When the engine last got on, or had nothing to do; `mark` says what it had done by then. */
  progress: z.object({ mark: z.string(), at: z.number() }),
  /** The desired generation that the rest is about; 0 before the first. */
  generation: z.number(),
  step: stepSchema,
  start: startSchema.optional(),
  run: runSchema.optional(),
  conclusion: conclusionSchema.optional(),
  /** The newest `stop_engine` of ours, recorded before it is sent. */
  stopped_at: z.number().optional(),
  /** The restart request that has been carried out as far as the stop. */
  restarted: z.string().optional(),
  /** The training has run its last step: it is not started again in this generation. */
  finished: z.boolean(),
  /** Failed starts in a row. */
  failures: z.number(),
  /** Why no start of this generation can succeed: none is tried. */
  no_start: z.string().optional(),
  /** When trainers crashed that had brought a policy update, or that somebody else had started; the newest last. */
  crashes: z.array(z.number()).optional(),
  last_failure: failureSchema.optional(),
  /** No start before then. */
  retry_at: z.number(),
  /** The setting `agreeAfter` of the function that wrote this; absent: it agrees by hand only. */
  agree_after: z
    .object({
      episodes: z.number().optional(),
      tasks: z.number().optional(),
      seconds: z.number().optional(),
    })
    .optional(),
  /** Of newer engines: the running experiment's folder on the engine's machine. */
  experiment_dir: z.string().optional(),
  /** The last call to the engine, where it brought no yes. */
  call_error: failureSchema.optional(),
  alarms: z.array(alarmSchema),
});
export type Observed = z.infer<typeof observedSchema>;

export interface LifecycleSettings {
  /** Failed starts in a row, or crashes within six hours, after which the engine is left alone. */
  readonly startAttempts: number;
  /** Before the second start; doubles with each further one. */
  readonly startPauseSeconds: number;
  /** An engine that boots for longer is an alarm; a start whose answer was lost or no is then given up. */
  readonly bootMinutes: number;
  /** Without progress for so long while work waits is an alarm. */
  readonly stalledMinutes: number;
  /** Stop, and start again, an engine that is stalled. */
  readonly restartWhenStalled: boolean;
  /** Looks in a row without an answer that make an alarm. */
  readonly unreachableAlarmTicks: number;
  /** When to agree to a weight sync, under a collection method that waits for it. */
  readonly agreeAfter?: AgreeRule | undefined;
}
export const lifecycleDefaults: LifecycleSettings = {
  startAttempts: 3,
  startPauseSeconds: 60,
  bootMinutes: 30,
  stalledMinutes: 30,
  restartWhenStalled: false,
  unreachableAlarmTicks: 3,
};

export interface EngineStateStore {
  /** `unreadable` says why where something stands there that is no desired state, or its config is not the checked one. */
  readDesired(engine: string): Promise<{ desired?: Desired | undefined; unreadable?: string }>;
  readObserved(engine: string): Promise<Observed | undefined>;
  /**
   * Writes `next` if the version that was left still stands and no tick with a higher token has written; false where
   * somebody else was first.
   */
  writeObserved(engine: string, previous: Observed | undefined, next: Observed): Promise<boolean>;
}

/** SHA-256 of the config's UTF-8, in hex. */
export async function configHash(config: string): Promise<string> {
  return await sha256Hex(new TextEncoder().encode(config));
}

/** SHA-256, in hex. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

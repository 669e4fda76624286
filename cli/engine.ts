/** `sortie engine`: what somebody wants of an engine; the lifecycle function makes it so. */
import { randomUUID } from "node:crypto";
import { type Command, Option } from "commander";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { letExpire, writeCode } from "../functions/adapters/table/engine-code.ts";
import { createEngineStateStore, setDesired, type Wish } from "../functions/adapters/table/engine-state.ts";
import { readLatestSnapshot } from "../functions/adapters/table/lifecycle.ts";
import { SettingsError } from "../functions/contract/settings-error.ts";
import type { Desired, Observed } from "../functions/core/engine-lifecycle/engine-state.ts";
import { answeredAt, type Snapshot } from "../functions/core/housekeeping/snapshot.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "./connection.ts";
import { agree, refuseHanging } from "./engine-agree.ts";
import { packCode } from "./engine-code.ts";
import { configFacts, readConfig } from "./engine-config.ts";
import { showLog } from "./engine-log.ts";
import { type Answered, CONFIG_UNKNOWN, engineText, isConfigUnknown, wishText } from "./engine-text.ts";
import { follow } from "./engine-wait.ts";
import { CommandFailure } from "./failures.ts";
import { type Io, printJson } from "./io.ts";
import { duration } from "./options.ts";
import { userName } from "./pause.ts";
import { printable } from "./terminal-text.ts";

interface EngineOptions extends CommonOptions {
  readonly engine: string;
  readonly config?: string;
  readonly code?: string;
  readonly wait?: boolean;
  readonly follow?: boolean;
  readonly timeout?: number;
  readonly agreeByHand?: boolean;
}

const HELP = `
The request is stored. The lifecycle function carries it out at its next
ticks, one safe step each, and keeps the engine in that state. --wait follows
it, and exits with 1 if the state cannot be reached.

Examples:
  $ sortie engine status
  $ sortie engine start --config train.yaml --wait
  $ sortie engine restart --wait --timeout 30m
  $ sortie engine start --config train.yaml --code ./AgentJet
  $ sortie engine log --follow
  $ sortie engine stop`;

const CODE = "the trainer's code, its folder ajet, which newer engines take before the config";
const BY_HAND = "take a config whose weight syncs wait for sortie engine agree, each time";

export function registerEngine(program: Command, io: Io): void {
  const engine = program
    .command("engine")
    .description("Starts, stops and shows a training engine.")
    .addHelpText("after", HELP);
  const sub = (name: string, description: string, work: Work) => {
    const command = engine
      .command(name)
      .description(description)
      .option("--engine <name>", "the engine's name in the settings", "main");
    return addCommonOptions(command)
      .addHelpText("after", HELP)
      .action(async (options: EngineOptions) => await onTable(command, options, io, work));
  };
  sub(
    "agree",
    "Agrees to the weight sync of the step that rolls, where the engine waits for its clients to agree.",
    async (table, options) => await agree(table, options, io),
  );
  const setting = (name: string, description: string, wish: WishFor) =>
    sub(name, description, async (table, options) => await set(table, options, io, wish))
      .option("--wait", "follow it until it holds")
      .addOption(
        new Option("--timeout <span>", "give up waiting after this: 90s, 30m, 2h").argParser(duration),
      );
  sub(
    "status",
    "Shows what is wanted of the engine, and what it does.",
    async (table, options) => await status(table, options, io),
  );
  sub(
    "log",
    "Shows the lines of a newer engine's own terminal.",
    async (table, options) => await showLog(table, options, io),
  ).option("--follow", "go on with new ones, until Ctrl-C");
  setting("start", "Wants the engine running with a training config.", wishToStart)
    .requiredOption("--config <file>", "the training config, YAML; - reads standard input")
    .option("--code <dir>", CODE)
    .option("--agree-by-hand", BY_HAND);
  setting("stop", "Wants the engine stopped.", async () => ({ state: "stopped" }));
  setting("restart", "Wants the engine stopped, and started again.", wishToRestart)
    .option("--config <file>", "another training config than before")
    .option("--code <dir>", CODE)
    .option("--agree-by-hand", BY_HAND);
}

type Work = (table: TableOptions, options: EngineOptions) => Promise<void>;
type WishFor = (table: TableOptions, options: EngineOptions, io: Io) => Promise<Wish>;

async function onTable(command: Command, options: EngineOptions, io: Io, work: Work): Promise<void> {
  await withDeployment(command, options, async (deployment) => {
    if (!deployment.tableAlone)
      refuseStranger(
        options.engine,
        (await deployment.fleets()).map(({ engine }) => engine),
        io,
      );
    await work(await deployment.table(), options);
  });
}

/** The outputs name engines by their fleets only: one without a fleet may exist. */
function refuseStranger(engine: string, known: readonly string[], io: Io): void {
  if (known.includes(engine)) return;
  io.err(
    `sortie: no fleet works on an engine ${JSON.stringify(engine)} (${[...new Set(known)].join(", ")} is there)\n`,
  );
}

async function status(table: TableOptions, { engine, json }: EngineOptions, io: Io): Promise<void> {
  const store = createEngineStateStore(table);
  const [{ desired, unreadable }, observed, snapshot] = await Promise.all([
    store.readDesired(engine),
    store.readObserved(engine),
    readLatestSnapshot(table, engine),
  ]);
  const since = observed && answeredSince(observed, snapshot);
  const seen = { engine, desired, unreadable, observed, pool: snapshot?.pool, since };
  if (json)
    printJson(io, {
      engine,
      desired: desired ?? null,
      unreadable: unreadable ?? null,
      observed: observed ?? null,
      answered_since: since ?? null,
    });
  else io.out(engineText(seen, io));
}

/** What a later snapshot saw of an engine that the last look of the drive did not reach. */
function answeredSince(
  { unreachable, looked_at }: Observed,
  snapshot: Snapshot | undefined,
): Answered | undefined {
  const at = answeredAt(snapshot);
  if (unreachable === undefined || snapshot === undefined || at === undefined || at <= looked_at)
    return undefined;
  const { engine_status: status, global_step: step = null } = snapshot.status;
  return { at, status, step };
}

async function set(table: TableOptions, options: EngineOptions, io: Io, wishFor: WishFor): Promise<void> {
  const { engine, json, wait, timeout } = options;
  const wish = await wishFor(table, options, io);
  if (wish.state === "running")
    await refuseHanging(table, { engine, config: wish.config, byHand: options.agreeByHand === true });
  const zip = options.code === undefined ? undefined : await packCode(options.code);
  const desired = await asked(table, engine, wish, zip, io.now());
  const store = createEngineStateStore(table);
  if (!json) io.out(wishText(engine, desired));
  sayUnknownConfig(engine, desired, await store.readObserved(engine), io);
  if (!wait) {
    if (json) printJson(io, { engine, desired, held: null });
    return;
  }
  const outcome = await follow({ store, io }, { engine, desired, timeoutMs: timeout });
  if (json) printJson(io, { engine, desired, ...outcome });
  else if (outcome.held) io.out(`${printable(`Engine ${engine}: ${outcome.why}`)}.\n`);
  if (!outcome.held) throw new CommandFailure(`engine ${engine}: ${outcome.why}`);
}

/** The config that is wanted says nothing about a training that somebody else has started. */
function sayUnknownConfig(engine: string, desired: Desired, observed: Observed | undefined, io: Io): void {
  if (desired.state !== "running" || desired.restart !== undefined) return;
  if (observed === undefined || !isConfigUnknown(observed)) return;
  io.err(
    `sortie: engine ${engine} runs already: ${CONFIG_UNKNOWN}. It goes on as it is; the wanted config counts from its next start on (sortie engine restart)\n`,
  );
}

async function asked(
  table: TableOptions,
  engine: string,
  wish: Wish,
  zip: Uint8Array | undefined,
  now: number,
): Promise<Desired> {
  try {
    const by = { now, name: userName() };
    if (zip === undefined || wish.state === "stopped") return await setDesired(table, engine, wish, by);
    const code = await writeCode(table, engine, zip);
    try {
      return await setDesired(table, engine, { ...wish, code }, by);
    } catch (error) {
      await letExpire(table, engine, code, now);
      throw error;
    }
  } catch (error) {
    if (error instanceof SettingsError) throw new CommandFailure(error.message, error);
    throw error;
  }
}

async function wishToStart(_: TableOptions, { config }: EngineOptions, io: Io): Promise<Wish> {
  return running(await readConfig(config ?? "-", io));
}

function running(config: string): Wish & { state: "running" } {
  return { state: "running", config, total_steps: configFacts(config).totalSteps };
}

async function wishToRestart(table: TableOptions, { engine, config }: EngineOptions, io: Io): Promise<Wish> {
  const restart = randomUUID();
  const { desired } = await createEngineStateStore(table).readDesired(engine);
  const code = desired?.state === "running" ? desired.code : undefined;
  if (config !== undefined) return { ...running(await readConfig(config, io)), restart, code };
  if (desired?.state === "running") return { ...running(desired.config), restart, code };
  const found = desired ? "it wanted stopped" : "nothing wanted of it";
  throw new CommandFailure(
    `expected engine ${engine} to be wanted running, found ${found}: give its training config with --config`,
  );
}

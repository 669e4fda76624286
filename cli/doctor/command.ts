/** `sortie doctor`: does the deployment have what it needs, and what to do where it does not. */
import { InvokeCommand, TooManyRequestsException } from "@aws-sdk/client-lambda";
import type { Command } from "commander";
import { addCommonOptions, type CommonOptions, withDeployment } from "../connection.ts";
import type { Deployment } from "../deployment.ts";
import { CommandFailure } from "../failures.ts";
import { type Io, printJson, type Style } from "../io.ts";
import { counted } from "../push/text.ts";
import { printable } from "../terminal-text.ts";
import { engineChecks } from "./engine-checks.ts";
import { type Check, type CheckPorts, type Finding, runChecks } from "./finding.ts";
import { fleetStateChecks } from "./fleet-state-checks.ts";
import { fleetChecks } from "./queue-checks.ts";
import { tableChecks } from "./table-checks.ts";

interface DoctorOptions extends CommonOptions {
  readonly invoke?: string;
}

const HELP = `
The newest snapshot shows whether the functions reach the engine. --invoke
calls the lifecycle function first, for a snapshot of this moment (cdk deploy
prints its name, and the console shows it).

Examples:
  $ sortie doctor
  $ sortie doctor --local
  $ sortie doctor --invoke Sortie-EnginemainLifecycleFunction1A2B3C
  $ sortie doctor --json | jq '.[] | select(.verdict == "failed")'`;

export function registerDoctor(program: Command, io: Io): void {
  const command = program
    .command("doctor")
    .description("Checks a deployment from table to engine, and says what to do about each fault.")
    .option("--invoke <function>", "call this lifecycle function first");
  addCommonOptions(command)
    .addHelpText("after", HELP)
    .action(async (options: DoctorOptions) => await doctor(command, options, io));
}

async function doctor(command: Command, options: DoctorOptions, io: Io): Promise<void> {
  const findings = await withDeployment(command, options, async (deployment) => {
    const ports: CheckPorts = { deployment, where: { ...options, ...deployment.known() }, now: io.now };
    return await runChecks(await checksFor(ports, options), ports.where);
  });
  if (options.json) printJson(io, findings);
  else io.out(findingsText(findings, io.style));
  const failures = findings.filter(({ verdict }) => verdict === "failed").length;
  if (failures > 0) throw new CommandFailure(`${counted(failures, "check")} did not pass`);
}

async function checksFor(ports: CheckPorts, { invoke }: DoctorOptions): Promise<Check[]> {
  const { deployment } = ports;
  const invoked =
    invoke === undefined
      ? []
      : [{ name: "invoke", run: async () => await invokeLifecycle(deployment, invoke) }];
  if (deployment.tableAlone)
    return [
      ...tableChecks(ports),
      ...fleetStateChecks(ports, { name: "main", engine: "main" }),
      ...invoked,
      ...engineChecks(ports, "main"),
    ];
  const fleets = await deployment.fleets();
  const engines = [...new Set(fleets.map(({ engine }) => engine))];
  return [
    ...tableChecks(ports),
    ...fleets.flatMap((fleet) => [...fleetChecks(ports, fleet), ...fleetStateChecks(ports, fleet)]),
    ...invoked,
    ...engines.flatMap((engine) => engineChecks(ports, engine)),
  ];
}

async function invokeLifecycle({ aws, local }: Deployment, name: string): Promise<Omit<Finding, "check">> {
  if (local) return { verdict: "unknown", text: "a local run ticks every few seconds by itself" };
  const answer = await aws.lambda.send(new InvokeCommand({ FunctionName: name })).catch((error) => {
    if (error instanceof TooManyRequestsException) return undefined;
    throw error;
  });
  if (!answer)
    return { verdict: "unknown", text: `${name} is running: its schedule has just called it` } as const;
  const { FunctionError, Payload } = answer;
  if (FunctionError === undefined) return { verdict: "ok", text: `${name} has run` };
  const words = new TextDecoder().decode(Payload).slice(0, 300);
  return { verdict: "failed", text: `${name} failed (${FunctionError}): ${words}: look at its log` };
}

const marks = {
  ok: ["green", "✓"],
  warning: ["yellow", "!"],
  failed: ["red", "✗"],
  unknown: ["dim", "?"],
} as const;

function findingsText(findings: readonly Finding[], style: Style): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, verdict, text }) => {
    const [colour, mark] = marks[verdict];
    return `${style(colour, mark)} ${check.padEnd(width)}  ${printable(text)}`;
  });
  return `${lines.join("\n")}\n`;
}

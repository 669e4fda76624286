/** A deployment's table and queues: from the stack's outputs, from options in their place, or from a local run. */
import { DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import * as z from "zod";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import type { Aws } from "./aws.ts";
import { CommandFailure } from "./failures.ts";
import type { LocalRun } from "./local-run.ts";
import { bucketPlace, folderPlace, type TranscriptPlace } from "./transcripts/place.ts";

export interface Fleet {
  readonly name: string;
  readonly engine: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

export interface Deployment {
  readonly aws: Aws;
  readonly local: LocalRun | undefined;
  /** Only the table was named: nobody knows the queues, nor whether a fleet of some name exists. */
  readonly tableAlone: boolean;
  table(): Promise<TableOptions>;
  fleets(): Promise<readonly Fleet[]>;
  /** The one that is asked for, or the only one. */
  fleet(wanted: string | undefined): Promise<Fleet>;
  /** Where its transcripts are; undefined where none are kept, or where nothing says so. */
  transcripts(): Promise<TranscriptPlace | undefined>;
  /** How many days a rollout's item stays in the table after its last change. */
  rolloutTtlDays(): Promise<number>;
  /** The one that is asked for, or all; also where only the table is known. */
  fleetNames(wanted: string | undefined): Promise<readonly string[]>;
  /** What has been found out so far, to be named in a message. */
  known(): { readonly table?: string };
}

/** The name of the fleet of those who have only one. */
const DEFAULT_FLEET = "main";
/** Where no stack tells: only queues and table were named, or an earlier release deployed it. The default of the settings. */
const DEFAULT_TTL_DAYS = 30;

export function findDeployment(aws: Aws, given: GivenConnection, local?: LocalRun): Deployment {
  // Asked once for each command, and only where something is needed from it.
  let outputs: Promise<Outputs> | undefined;
  const fromStack = () => {
    outputs ??= stackOutputs(aws, given.stack);
    return outputs;
  };
  const placed = async () => local ?? (await fromStack());
  let known: { table?: string } = given.table === undefined ? {} : { table: given.table };
  const tableAlone = !local && given.table !== undefined && given.queueUrl === undefined;
  const deployment: Deployment = {
    aws,
    local,
    tableAlone,
    known: () => known,
    async table() {
      const table = local?.table ?? given.table ?? (await placed()).table;
      known = { table };
      return { client: aws.dynamodb, table };
    },
    async fleets() {
      return givenFleet(given) ?? (await placed()).fleets;
    },
    async fleet(wanted) {
      const one = givenFleet(given);
      if (one) return { ...one[0], name: wanted ?? one[0].name };
      return chosen(await deployment.fleets(), wanted);
    },
    async transcripts() {
      if (local) return local.transcripts === undefined ? undefined : folderPlace(local.transcripts);
      if (givenFleet(given) || tableAlone) return undefined;
      const { transcriptBucket } = await fromStack();
      return transcriptBucket === undefined ? undefined : bucketPlace(aws.s3, transcriptBucket);
    },
    async rolloutTtlDays() {
      if (givenFleet(given)) return DEFAULT_TTL_DAYS;
      return (await placed()).rolloutTtlDays ?? DEFAULT_TTL_DAYS;
    },
    async fleetNames(wanted) {
      if (tableAlone || givenFleet(given)) return [wanted ?? DEFAULT_FLEET];
      const fleets = await deployment.fleets();
      return wanted === undefined ? fleets.map(({ name }) => name) : [chosen(fleets, wanted).name];
    },
  };
  return deployment;
}

function givenFleet({ queueUrl, deadLetterQueueUrl, local }: GivenConnection): [Fleet] | undefined {
  if (local || (queueUrl === undefined && deadLetterQueueUrl === undefined)) return undefined;
  const urls = { queueUrl: queueUrl ?? "", deadLetterQueueUrl: deadLetterQueueUrl ?? "" };
  return [{ name: DEFAULT_FLEET, engine: DEFAULT_FLEET, ...urls }];
}

/** A queue that a command needs, where options may have named the other one alone. */
export function neededQueue(fleet: Fleet, which: "queueUrl" | "deadLetterQueueUrl"): string {
  const option = which === "queueUrl" ? "--queue-url" : "--dead-letter-queue-url";
  if (fleet[which] !== "") return fleet[which];
  throw new CommandFailure(`expected ${option} as well, found only the other queue: give both, or --stack`);
}

function chosen(fleets: readonly Fleet[], wanted: string | undefined): Fleet {
  const names = fleets.map(({ name }) => name).join(", ");
  if (wanted === undefined) {
    const [only, ...others] = fleets;
    if (only && others.length === 0) return only;
    throw new CommandFailure(`expected --fleet, since there are several (${names}): name one`);
  }
  const found = fleets.find(({ name }) => name === wanted);
  if (found) return found;
  throw new CommandFailure(`expected one of the fleets (${names}), found ${JSON.stringify(wanted)}`);
}

interface Outputs {
  readonly table: string;
  readonly fleets: readonly Fleet[];
  readonly rolloutTtlDays?: number | undefined;
  readonly transcriptBucket?: string | undefined;
}

const text = z.string().min(1);
const fleetsOutput = z.array(
  z.object({ name: text, engine: text, queueUrl: text, deadLetterQueueUrl: text }),
);

const daysOutput = z.coerce.number().positive();

async function stackOutputs(aws: Aws, stack: string): Promise<Outputs> {
  const { Stacks: [found] = [] } = await aws.cloudformation.send(
    new DescribeStacksCommand({ StackName: stack }),
  );
  const values = new Map(found?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  const table = values.get("TableName");
  const fleets = parseFleets(values.get("Fleets"));
  const rolloutTtlDays = daysOutput.safeParse(values.get("RolloutTtlDays")).data;
  const transcriptBucket = values.get("TranscriptBucket");
  if (table && fleets) return { table, fleets, rolloutTtlDays, transcriptBucket };
  throw new CommandFailure(
    `expected the outputs TableName and Fleets of the stack ${stack} (${found?.StackStatus ?? "no status"}), found ` +
      `${[...values.keys()].join(", ") || "none"}: is it Sortie's, and has its deployment ended?`,
  );
}

function parseFleets(json: string | undefined): readonly Fleet[] | undefined {
  try {
    return fleetsOutput.safeParse(JSON.parse(json ?? "")).data;
  } catch {
    return undefined;
  }
}

/** As given on the command line or by the environment. */
export interface GivenConnection {
  readonly stack: string;
  readonly table?: string;
  readonly queueUrl?: string;
  readonly deadLetterQueueUrl?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly endpointUrl?: string;
  readonly local?: boolean;
}

/** What a file of tests shares: real SQS and DynamoDB servers with the queues and the table of the template. */
import { credentials, region } from "../../local/region.ts";
import { createQueues } from "../../local/servers/queue-server.ts";
import { type Servers, startServers } from "../../local/servers/servers.ts";
import type { QueueSpec } from "../../local/template/specs.ts";
import type { Template } from "../../local/template/template.ts";
import { stackTemplate } from "./template.ts";

export interface AwsServers {
  readonly servers: Servers;
  readonly table: string;
  /** A fleet's own queue and dead letters, as the template has them. */
  fleetQueues(fleet: string): Promise<{ queueUrl: string; deadLetterQueueUrl: string }>;
  /** What tells a process's SDK where the servers are. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startAwsServers(): Promise<AwsServers> {
  const template = await stackTemplate();
  const servers = await startServers(template);
  const [table = ""] = [...template.tables.values()].map(({ name }) => name);
  const environment = { ...servers.environment, ...awsVariables };
  return {
    servers,
    table,
    environment,
    fleetQueues: (fleet) => createFleetQueues(template, servers, fleet),
    close: servers.close,
  };
}

const awsVariables = {
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
};

async function createFleetQueues(template: Template, servers: Servers, fleet: string) {
  const { queues } = servers;
  const specs = [...template.queues.values()];
  const work = need(specs.find(({ redrive }) => redrive !== undefined));
  const dead = need(specs.find(({ redrive }) => redrive === undefined));
  const named: QueueSpec[] = [
    { ...dead, name: `${fleet}-dead` },
    { ...work, name: fleet, redrive: undefined },
  ];
  await createQueues(queues, named);
  return { queueUrl: queues.url(fleet), deadLetterQueueUrl: queues.url(`${fleet}-dead`) };
}

function need<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("expected a queue with and one without redrive in the template");
  return found;
}

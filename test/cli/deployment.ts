/** A deployment as the command finds it: real queue and table servers, and a CloudFormation that knows its outputs. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { arn } from "../../local/region.ts";
import { createQueues, startQueueServer } from "../../local/servers/queue-server.ts";
import { createTables, startTableServer } from "../../local/servers/table-server.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { local } from "./command.ts";

export interface Fleet {
  readonly name: string;
  readonly engine: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}
export interface Deployed extends AsyncDisposable {
  readonly sqs: SQSClient;
  readonly dynamodb: DynamoDBClient;
  readonly table: { readonly client: DynamoDBClient; readonly table: string };
  readonly fleets: readonly Fleet[];
  readonly main: Fleet;
  /** What a user's environment would have to say. */
  readonly environment: Readonly<Record<string, string>>;
  readonly endpoints: { readonly sqs: string; readonly dynamodb: string };
  send(queueUrl: string, body: string, attributes?: Record<string, string>): Promise<void>;
}

const TABLE = "Sortie-State";

/** @param names of the fleets; all work on the engine main. @param outputs of the stack, beside those that each has */
export async function startDeployment(
  names: readonly string[] = ["main"],
  outputs: Readonly<Record<string, string>> = {},
): Promise<Deployed> {
  const [queues, tables] = await Promise.all([startQueueServer(), startTableServer()]);
  await createTables(tables, [{ ...stateTable, name: TABLE }]);
  const common = { delaySeconds: 0, waitSeconds: 0, retentionSeconds: 1_209_600, visibilitySeconds: 960 };
  for (const name of names) {
    await createQueues(queues, [{ ...common, name: `${name}-dead`, redrive: undefined }]);
    const redrive = { targetArn: arn("sqs", `${name}-dead`), maxReceiveCount: 1000 };
    await createQueues(queues, [{ ...common, name, redrive }]);
  }
  const fleets = names.map((name) => ({
    name,
    engine: "main",
    queueUrl: queues.url(name),
    deadLetterQueueUrl: queues.url(`${name}-dead`),
  }));
  const [main] = fleets;
  if (!main) throw new Error("expected at least one fleet");
  const stacks = await cloudFormation({
    TableName: TABLE,
    Fleets: JSON.stringify(fleets),
    RolloutTtlDays: "90",
    ...outputs,
  });
  return {
    sqs: queues.client,
    dynamodb: tables.client,
    table: { client: tables.client, table: TABLE },
    fleets,
    main,
    endpoints: { sqs: queues.endpoint, dynamodb: tables.endpoint },
    environment: {
      ...local,
      AWS_ENDPOINT_URL_SQS: queues.endpoint,
      AWS_ENDPOINT_URL_DYNAMODB: tables.endpoint,
      // The queues' server has buckets as well.
      AWS_ENDPOINT_URL_S3: queues.endpoint,
      AWS_ENDPOINT_URL_CLOUDFORMATION: stacks.url,
    },
    send: async (QueueUrl, MessageBody, attributes = {}) => {
      const MessageAttributes = Object.fromEntries(
        Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
      );
      await queues.client.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes }));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([queues.close(), tables.close(), stacks.close()]);
    },
  };
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Knows the stack Sortie; answers for any other as AWS does. */
async function cloudFormation(outputs: Readonly<Record<string, string>>) {
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${escaped(value)}</OutputValue></member>`,
  );
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const name = new URLSearchParams(body).get("StackName");
    response.setHeader("content-type", "text/xml");
    if (name !== "Sortie") {
      response.writeHead(400);
      response.end(
        `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id ${name} does not exist</Message></Error></ErrorResponse>`,
      );
      return;
    }
    response.end(
      `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>Sortie</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-05-04T10:00:00Z</CreationTime><Outputs>${members.join("")}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

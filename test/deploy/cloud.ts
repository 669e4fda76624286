/** What the check looks at in the cloud that it deployed to. */
import { setTimeout as delay } from "node:timers/promises";
import {
  CloudFormationClient,
  DeleteStackCommand,
  DescribeStackResourcesCommand,
  DescribeStacksCommand,
} from "@aws-sdk/client-cloudformation";
import { DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { sendAll } from "../../cli/push/producer.ts";
import { readDepth } from "../../functions/adapters/queue/depth.ts";
import { CHANGE_INDEX, readLatestSnapshot } from "../../functions/adapters/table/lifecycle.ts";

export const STACK = "Sortie";

export class Cloud {
  readonly #formation = new CloudFormationClient();
  readonly #lambda = new LambdaClient();
  readonly #dynamodb = new DynamoDBClient();
  readonly #sqs = new SQSClient({ useQueueUrlAsEndpoint: false });

  /** Undefined where there is no such stack. */
  async status(): Promise<string | undefined> {
    const { Stacks = [] } = await this.#formation
      .send(new DescribeStacksCommand({ StackName: STACK }))
      .catch(() => ({ Stacks: [] }));
    return Stacks[0]?.StackStatus;
  }

  async output(name: string): Promise<string> {
    const { Stacks = [] } = await this.#formation.send(new DescribeStacksCommand({ StackName: STACK }));
    const found = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === name)?.OutputValue;
    if (found === undefined) throw new Error(`expected an output ${name} of the stack, found none`);
    return found;
  }

  async functionMemory(idPrefix: string): Promise<number | undefined> {
    const { StackResources = [] } = await this.#formation.send(
      new DescribeStackResourcesCommand({ StackName: STACK }),
    );
    const found = StackResources.find(
      ({ LogicalResourceId: id = "", ResourceType }) =>
        ResourceType === "AWS::Lambda::Function" && id.startsWith(idPrefix),
    );
    const name = found?.PhysicalResourceId;
    if (name === undefined) throw new Error(`expected a function ${idPrefix}*, found none`);
    const { MemorySize } = await this.#lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: name }),
    );
    return MemorySize;
  }

  async push(queueUrl: string, tasks: readonly object[]): Promise<void> {
    const refused = await sendAll(
      { client: this.#sqs, queueUrl },
      tasks.map((task) => JSON.stringify(task)),
    );
    if (refused.length > 0)
      throw new Error(`expected every message to be taken, found ${JSON.stringify(refused)}`);
  }

  async attributes(queueUrl: string): Promise<Partial<Record<string, string>>> {
    const { Attributes = {} } = await this.#sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["All"] }),
    );
    return Attributes;
  }

  /** Messages that the queue holds, whatever state they are in. */
  async depth(queueUrl: string): Promise<number> {
    const { visible, in_flight, delayed } = await readDepth(this.#sqs, queueUrl);
    return visible + in_flight + delayed;
  }

  /** States of the fleet's rollouts by task. */
  async rollouts(table: string, fleet: string): Promise<Record<string, string>> {
    const { Items = [] } = await this.#dynamodb.send(
      new QueryCommand({
        TableName: table,
        IndexName: CHANGE_INDEX,
        KeyConditionExpression: "changed_fleet = :fleet",
        ExpressionAttributeValues: { ":fleet": { S: fleet } },
      }),
    );
    return Object.fromEntries(
      Items.map((item) => unmarshall(item)).map(({ task_id, state }) => [String(task_id), String(state)]),
    );
  }

  async snapshot(table: string, engine: string) {
    return await readLatestSnapshot({ client: this.#dynamodb, table }, engine);
  }

  async deleteStack(): Promise<void> {
    await this.#formation.send(new DeleteStackCommand({ StackName: STACK }));
    await until("the stack to be gone", 60, async () => {
      const status = await this.status();
      return status === undefined || status === "DELETE_COMPLETE";
    });
  }
}

/** Asks each second until the answer is yes. @throws after that many seconds */
export async function until(what: string, seconds: number, ask: () => Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < seconds; asked += 1) {
    if (await ask()) return;
    await delay(1000);
  }
  throw new Error(`expected ${what} within ${seconds} s, found that it did not come about`);
}

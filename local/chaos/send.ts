/** Puts a run's messages into the fleet's queue. */
import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import type { SystemUnderFaults } from "./fleet.ts";
import type { Push } from "./pushes.ts";

/** @throws Error where the queue refuses one: then nothing could be said about it. */
export async function sendPushes(
  { system, fleet }: SystemUnderFaults,
  messages: readonly Push[],
): Promise<void> {
  for (let start = 0; start < messages.length; start += 10) {
    const batch = messages.slice(start, start + 10).map(({ body, delaySeconds }, index) => ({
      Id: String(start + index),
      MessageBody: body,
      DelaySeconds: delaySeconds,
    }));
    const command = new SendMessageBatchCommand({ QueueUrl: fleet.queueUrl, Entries: batch });
    const { Failed = [] } = await system.sqs.send(command);
    if (Failed.length > 0)
      throw new Error(`the queue refused ${Failed.length} messages: ${Failed[0]?.Message}`);
  }
}

import { GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Depth } from "../../core/housekeeping/snapshot.ts";

/** How many messages a queue holds; SQS calls each number approximate. */
export async function readDepth(client: SQSClient, queueUrl: string): Promise<Depth> {
  const { Attributes: found = {} } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: queueUrl,
      AttributeNames: [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
      ],
    }),
  );
  return {
    visible: Number(found["ApproximateNumberOfMessages"] ?? 0),
    in_flight: Number(found["ApproximateNumberOfMessagesNotVisible"] ?? 0),
    delayed: Number(found["ApproximateNumberOfMessagesDelayed"] ?? 0),
  };
}

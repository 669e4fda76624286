import {
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";

/** How many messages a queue holds: visible, and received but neither deleted nor visible again. */
export async function messageCounts(
  client: SQSClient,
  queueUrl: string,
): Promise<{ visible: number; inFlight: number }> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["All"] }),
  );
  return {
    visible: Number(Attributes?.ApproximateNumberOfMessages),
    inFlight: Number(Attributes?.ApproximateNumberOfMessagesNotVisible),
  };
}

/** What is visible at this moment. */
export async function receiveNow(client: SQSClient, queueUrl: string): Promise<Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: 10,
    WaitTimeSeconds: 0,
    MessageSystemAttributeNames: ["ApproximateReceiveCount"],
  });
  const { Messages = [] } = await client.send(command);
  return Messages;
}

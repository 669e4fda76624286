import type { Message, MessageAttributeValue } from "@aws-sdk/client-sqs";
import type { SQSMessageAttributes, SQSRecord } from "aws-lambda";
import { region } from "../region.ts";

/** Lambda's limit for the event of an invocation, in bytes of JSON. */
export const maximumEventBytes = 6_291_456;

/** A received message in the shape in which Lambda hands it to a function. */
export function toRecord(message: Message, queueArn: string): SQSRecord {
  const { MD5OfMessageAttributes } = message;
  return {
    messageId: message.MessageId ?? "",
    receiptHandle: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    // The names are the same; what SQS leaves out is left out here.
    attributes: { ...message.Attributes } as unknown as SQSRecord["attributes"],
    messageAttributes: attributesOf(message.MessageAttributes ?? {}),
    md5OfBody: message.MD5OfBody ?? "",
    ...(MD5OfMessageAttributes === undefined ? {} : { md5OfMessageAttributes: MD5OfMessageAttributes }),
    eventSource: "aws:sqs",
    eventSourceARN: queueArn,
    awsRegion: region,
  };
}

function attributesOf(attributes: Readonly<Record<string, MessageAttributeValue>>): SQSMessageAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { StringValue, BinaryValue, DataType }]) => {
      const value = {
        ...(StringValue === undefined ? {} : { stringValue: StringValue }),
        ...(BinaryValue === undefined ? {} : { binaryValue: Buffer.from(BinaryValue).toString("base64") }),
        stringListValues: [],
        binaryListValues: [],
        dataType: DataType ?? "String",
      };
      return [name, value as unknown as SQSMessageAttributes[string]];
    }),
  );
}

/** Splits a batch so that each event stays within Lambda's limit. */
export function splitBySize(
  records: readonly SQSRecord[],
  maximumBytes: number = maximumEventBytes,
): SQSRecord[][] {
  const batches: SQSRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + 1;
    if (bytes + size > maximumBytes) {
      batches.push([]);
      bytes = '{"Records":[]}'.length;
    }
    batches.at(-1)?.push(record);
    bytes += size;
  }
  return batches;
}

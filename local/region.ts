/** The one region and account of a local run: what fauxqs and dynalite answer with. */
export const region = "us-east-1";
export const accountId = "000000000000";

/** Credentials for the SDK's clients against local servers, which accept any. */
export const credentials = { accessKeyId: "local", secretAccessKey: "local", sessionToken: "local" };

/** The ARN of something in the local account, as `arn("sqs", "my-queue")`. */
export function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${region}:${accountId}:${resource}`;
}

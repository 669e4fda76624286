/** The bucket of transcripts of a deployment for tests, made for one that names it in its outputs. */
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { transcriptStore } from "../../../functions/adapters/transcripts/index.ts";
import type { TranscriptStore } from "../../../functions/core/transcript/transcripts.ts";
import type { Deployed } from "../deployment.ts";

export const BUCKET = "talks";
const region = "eu-west-1";

/** What a rollout function writes with. */
export async function createTranscriptBucket({ endpoints }: Deployed): Promise<TranscriptStore> {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  // The queues' server has buckets as well.
  const s3 = new S3Client({ endpoint: endpoints.sqs, region, credentials, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  s3.destroy();
  return transcriptStore(`s3://${BUCKET}`, {
    AWS_REGION: region,
    AWS_ENDPOINT_URL_S3: endpoints.sqs,
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
}

import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { BlockPublicAccess, Bucket, BucketEncryption } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { fleetTranscripts } from "../functions/contract/transcript-names.ts";
import { deploymentDefaults } from "./settings-schema.ts";

export interface TranscriptBucketProps {
  /** Days until a transcript is deleted. Default: 14. */
  readonly transcriptDays?: number;
}

/** Where the conversations of attempts are kept: private, encrypted, over TLS alone, and emptied by itself. */
export class TranscriptBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, props: TranscriptBucketProps = {}) {
    super(scope, id);
    this.bucket = new Bucket(this, "Bucket", {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      lifecycleRules: [
        {
          expiration: Duration.days(props.transcriptDays ?? deploymentDefaults.transcriptDays),
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
      ],
      // S3 deletes no bucket that holds something; what is in it goes by the rule above.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
  }

  /** As the functions get it. */
  get address(): string {
    return `s3://${this.bucket.bucketName}`;
  }

  /** Lets a fleet's function put its own transcripts there, and nothing else. */
  grantPut(role: IRole, fleet: string): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["s3:PutObject"],
        resources: [this.bucket.arnForObjects(`${fleetTranscripts(fleet)}*`)],
      }),
    );
  }
}

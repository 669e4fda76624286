import { RemovalPolicy } from "aws-cdk-lib";

/**
 * What becomes of a table, a queue or a log group when the stack no longer has it. One that is kept goes all the same where
 * the deployment that made it failed: it is empty then, and the next try would make another beside it.
 */
export function retention(retain: boolean): RemovalPolicy {
  return retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
}

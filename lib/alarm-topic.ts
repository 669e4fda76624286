import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";
import type { Settings } from "./settings.ts";

/** What the alarms do: tell a topic that there is, or one of their own with an address on it; or nothing. */
export function alarmActionOf(
  scope: Construct,
  { alarmTopicArn, alarmEmail }: Settings,
): IAlarmAction | undefined {
  if (alarmTopicArn !== undefined)
    return new SnsAction(Topic.fromTopicArn(scope, "AlarmTopic", alarmTopicArn));
  if (alarmEmail === undefined) return undefined;
  const topic = new Topic(scope, "AlarmTopic", { displayName: "Sortie alarms", enforceSSL: true });
  topic.addSubscription(new EmailSubscription(alarmEmail));
  return new SnsAction(topic);
}

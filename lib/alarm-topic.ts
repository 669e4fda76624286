import { ArnFormat, Stack } from "aws-cdk-lib";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
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
  letAlarmsPublish(topic);
  return new SnsAction(topic);
}

/** A topic with a policy of its own, here for TLS, has lost SNS's default one, by which CloudWatch may publish. */
function letAlarmsPublish(topic: Topic): void {
  const stack = Stack.of(topic);
  const ofThisAccount = stack.formatArn({
    service: "cloudwatch",
    resource: "alarm",
    resourceName: "*",
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: "AllowAlarmsToPublish",
      principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
      actions: ["sns:Publish"],
      resources: [topic.topicArn],
      conditions: {
        StringEquals: { "aws:SourceAccount": stack.account },
        ArnLike: { "aws:SourceArn": ofThisAccount },
      },
    }),
  );
}

import type { Template } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

const network = {
  vpcId: "vpc-0123456789abcdef0",
  subnetIds: ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
  availabilityZones: ["eu-west-1a", "eu-west-1b"],
};
const routeTableIds = ["rtb-0123456789abcdef0", "rtb-0123456789abcdef1"];
const functionIds = ["FleetmainRollout", "EnginemainLifecycle"];
const properties = (template: Template, type: string, id = "") =>
  plain(resource(template, type, id).Properties) as Record<string, unknown>;

// The first synthesis of a process loads much of the CDK.
describe("a network that is given by its ids", { timeout: 60_000 }, () => {
  test("holds both functions, which let everything out and nobody in", () => {
    const template = synthesise({ engineUrl, network });
    for (const id of functionIds)
      expect(properties(template, "AWS::Lambda::Function", id)["VpcConfig"]).toEqual({
        SubnetIds: network.subnetIds,
        SecurityGroupIds: ["<NetworkFunctions.GroupId>"],
      });
    const group = properties(template, "AWS::EC2::SecurityGroup");
    expect(group).toMatchObject({ VpcId: network.vpcId, SecurityGroupEgress: [{ CidrIp: "0.0.0.0/0" }] });
    expect(group["SecurityGroupIngress"]).toBe(undefined);
    template.resourceCountIs("AWS::EC2::SecurityGroupIngress", 0);
  });

  test("the function that compares names stays outside: it has to reach CloudFormation", () => {
    const template = synthesise({ engineUrl, network });
    expect(properties(template, "AWS::Lambda::Function", "FleetNames")["VpcConfig"]).toBe(undefined);
  });

  test("security groups of one's own take the place of Sortie's", () => {
    const securityGroupIds = ["sg-0123456789abcdef0"];
    const template = synthesise({ engineUrl, network: { ...network, securityGroupIds } });
    template.resourceCountIs("AWS::EC2::SecurityGroup", 0);
    expect(properties(template, "AWS::Lambda::Function", "FleetmainRollout")).toMatchObject({
      VpcConfig: { SecurityGroupIds: securityGroupIds },
    });
  });

  test("makes no endpoint unless it is asked to", () => {
    synthesise({ engineUrl, network }).resourceCountIs("AWS::EC2::VPCEndpoint", 0);
  });

  test("endpoints of services are open to the functions alone", () => {
    const endpoints = ["sqs", "logs", "secretsmanager"];
    const template = synthesise({ engineUrl, network: { ...network, endpoints } });
    const made = Object.values(template.findResources("AWS::EC2::VPCEndpoint")).map(
      ({ Properties }) => plain(Properties) as Record<string, unknown>,
    );
    const shared = {
      VpcId: network.vpcId,
      VpcEndpointType: "Interface",
      PrivateDnsEnabled: true,
      SubnetIds: network.subnetIds,
      SecurityGroupIds: ["<NetworkEndpoints.GroupId>"],
    };
    expect(made).toEqual(
      endpoints.map((name) => ({ ...shared, ServiceName: `com.amazonaws.<AWS::Region>.${name}` })),
    );
    const ingress = Object.values(template.findResources("AWS::EC2::SecurityGroupIngress"));
    expect(ingress.map(({ Properties }) => plain(Properties))).toEqual([
      expect.objectContaining({
        GroupId: "<NetworkEndpoints.GroupId>",
        SourceSecurityGroupId: "<NetworkFunctions.GroupId>",
        FromPort: 443,
        ToPort: 443,
        IpProtocol: "tcp",
      }),
    ]);
    template.hasResourceProperties("AWS::EC2::SecurityGroup", {
      GroupDescription: "Sortie: endpoints of AWS services, open to its functions",
    });
  });

  test("the endpoint of DynamoDB is a route in each subnet's table", () => {
    const template = synthesise({
      engineUrl,
      network: { ...network, routeTableIds, endpoints: ["dynamodb"] },
    });
    expect(properties(template, "AWS::EC2::VPCEndpoint")).toMatchObject({
      VpcEndpointType: "Gateway",
      ServiceName: "com.amazonaws.<AWS::Region>.dynamodb",
      RouteTableIds: routeTableIds,
    });
  });

  test("Lambda may attach the function to the network, and the code may not", () => {
    const template = synthesise({ engineUrl, network });
    const actions = [
      "ec2:AssignPrivateIpAddresses",
      "ec2:CreateNetworkInterface",
      "ec2:DeleteNetworkInterface",
      "ec2:DescribeNetworkInterfaces",
      "ec2:DescribeSubnets",
      "ec2:UnassignPrivateIpAddresses",
    ];
    const statements = (id: string) =>
      (properties(template, "AWS::IAM::Policy", id)["PolicyDocument"] as { Statement: unknown[] }).Statement;
    for (const id of functionIds) {
      expect(statements(`${id}RoleDefault`)).toContainEqual({
        Action: actions,
        Effect: "Allow",
        Resource: "*",
      });
      expect(statements(`${id}NoNetwork`)).toEqual([
        {
          Action: actions,
          Condition: { ArnEquals: { "lambda:SourceFunctionArn": `<${id}Function.Arn>` } },
          Effect: "Deny",
          Resource: "*",
        },
      ]);
    }
  });
});

test("without a network there is nothing of it", { timeout: 60_000 }, () => {
  const template = synthesise();
  template.resourceCountIs("AWS::EC2::SecurityGroup", 0);
  expect(properties(template, "AWS::Lambda::Function", "FleetmainRollout")["VpcConfig"]).toBe(undefined);
});

describe("faults", () => {
  test.each([
    [
      { ...network, availabilityZones: ["eu-west-1a"] },
      ["network.availabilityZones: expected one per subnet (2), found 1"],
    ],
    [
      { ...network, endpoints: ["dynamodb"] },
      ["network.routeTableIds: the endpoint of DynamoDB is a route, and needs one per subnet: add them"],
    ],
    [
      { ...network, routeTableIds: routeTableIds.slice(1) },
      ["network.routeTableIds: expected one per subnet (2), found 1"],
    ],
    [
      { vpcId: network.vpcId, availabilityZones: ["a"] },
      ["network.availabilityZones: there are no subnetIds for it: add them"],
    ],
    [{ vpcId: "vpc-1" }, ['network.vpcId: expected an id such as vpc-0123456789abcdef0, found "vpc-1"']],
    [
      { ...network, endpoints: ["sns"] },
      ['network.endpoints.0: expected one of dynamodb, s3, sqs, logs, secretsmanager, found "sns"'],
    ],
    [{ ...network, subnets: [] }, ["network.subnets: there is no such setting; did you mean subnetIds?"]],
  ])("%o", (found, faults) => {
    const decode = () => decodeSettings({ engineUrl, network: found });
    expect(decode).toThrow(new SettingsError(faults));
  });
});

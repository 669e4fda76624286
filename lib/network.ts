/** The private network that the functions run in, which is the user's: looked up, or described by ids. */
import {
  GatewayVpcEndpoint,
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  type ISecurityGroup,
  type ISubnet,
  type IVpc,
  Port,
  SecurityGroup,
  Subnet,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";
import { SettingsError } from "../functions/contract/settings-error.ts";
import {
  type EndpointName,
  isRoute,
  type NetworkSettings,
  networkFaults,
  type RouteName,
} from "./network-settings.ts";

const gatewayServices: Record<RouteName, { id: string; service: GatewayVpcEndpointAwsService }> = {
  dynamodb: { id: "DynamoDb", service: GatewayVpcEndpointAwsService.DYNAMODB },
  s3: { id: "S3", service: GatewayVpcEndpointAwsService.S3 },
};
const interfaceServices: Record<Exclude<EndpointName, RouteName>, InterfaceVpcEndpointAwsService> = {
  sqs: InterfaceVpcEndpointAwsService.SQS,
  logs: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
  secretsmanager: InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
};

export type NetworkProps = NetworkSettings;

/** Where the functions go, and the endpoints that spare them a NAT gateway. Nothing in it lets anybody in. */
export class Network extends Construct {
  readonly vpc: IVpc;
  readonly subnets: ISubnet[];
  readonly securityGroups: ISecurityGroup[];

  /** @throws SettingsError with every fault at once */
  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);
    const faults = networkFaults(props);
    if (faults.length > 0) throw new SettingsError(faults);
    this.vpc = this.findVpc(props);
    this.subnets = this.findSubnets(props);
    this.securityGroups = this.findSecurityGroups(props);
    this.addEndpoints(props.endpoints ?? []);
  }

  private findVpc({ vpcId, subnetIds, availabilityZones = [] }: NetworkProps): IVpc {
    if (subnetIds === undefined) return Vpc.fromLookup(this, "Vpc", { vpcId });
    return Vpc.fromVpcAttributes(this, "Vpc", { vpcId, availabilityZones: [...new Set(availabilityZones)] });
  }

  private findSubnets({ subnetIds, availabilityZones = [], routeTableIds = [] }: NetworkProps): ISubnet[] {
    if (subnetIds === undefined) {
      const { privateSubnets, isolatedSubnets } = this.vpc;
      return privateSubnets.length > 0 ? privateSubnets : isolatedSubnets;
    }
    return subnetIds.map((subnetId, index) => {
      const availabilityZone = availabilityZones[index] ?? "";
      const routeTableId = routeTableIds[index];
      const attributes = { subnetId, availabilityZone, ...(routeTableId && { routeTableId }) };
      return Subnet.fromSubnetAttributes(this, `Subnet${index}`, attributes);
    });
  }

  private findSecurityGroups({ securityGroupIds }: NetworkProps): ISecurityGroup[] {
    if (securityGroupIds === undefined) {
      const description = "Sortie: functions, which call out and are never called";
      return [new SecurityGroup(this, "Functions", { vpc: this.vpc, description })];
    }
    return securityGroupIds.map((id, index) =>
      SecurityGroup.fromSecurityGroupId(this, `Group${index}`, id, { mutable: false }),
    );
  }

  private addEndpoints(names: readonly EndpointName[]): void {
    for (const [name, { id, service }] of Object.entries(gatewayServices))
      if (names.some((wanted) => wanted === name))
        new GatewayVpcEndpoint(this, id, {
          vpc: this.vpc,
          service,
          subnets: [{ subnets: this.subnets }],
        });
    const interfaces = names.filter((name) => !isRoute(name));
    if (interfaces.length === 0) return;
    const group = new SecurityGroup(this, "Endpoints", {
      vpc: this.vpc,
      description: "Sortie: endpoints of AWS services, open to its functions",
      allowAllOutbound: false,
    });
    for (const functions of this.securityGroups) group.addIngressRule(functions, Port.tcp(443), "HTTPS");
    for (const name of new Set(interfaces))
      new InterfaceVpcEndpoint(this, `Endpoint-${name}`, {
        vpc: this.vpc,
        service: interfaceServices[name],
        subnets: { subnets: this.subnets },
        securityGroups: [group],
        // Without it, the network's whole range of addresses would get in.
        open: false,
      });
  }
}

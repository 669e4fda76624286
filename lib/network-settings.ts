/** Where in a private network the functions run. */
import * as z from "zod";
import { idOf } from "./schema-parts.ts";

/** Services that a network without a way to the internet may need an endpoint for. */
export const endpointNames = ["dynamodb", "s3", "sqs", "logs", "secretsmanager"] as const;
export type EndpointName = (typeof endpointNames)[number];
/** Those that are routes of the subnets, and cost nothing. */
export type RouteName = "dynamodb" | "s3";

export function isRoute(name: EndpointName): name is RouteName {
  return name === "dynamodb" || name === "s3";
}

const listOf = <Item extends z.ZodType>(item: Item, what: string) => {
  const error = `expected a list of ${what}`;
  return z.array(item, { error }).min(1, { error }).optional();
};

export const networkShape = {
  vpcId: idOf("vpc"),
  /** Where the functions go. Absent: the VPC is looked up, and they go into its private subnets. */
  subnetIds: listOf(idOf("subnet"), "subnets"),
  /** One per subnet, in the same order. */
  availabilityZones: listOf(z.string().min(1), "availability zones"),
  /** Of the functions. Absent: one of their own, which lets everything out and nothing in. */
  securityGroupIds: listOf(idOf("sg"), "security groups"),
  /** One per subnet, in the same order; only for an endpoint of DynamoDB or S3, which is a route. */
  routeTableIds: listOf(idOf("rtb"), "route tables"),
  /** Endpoints to make in the VPC, so that nothing needs a NAT gateway. None by default. */
  endpoints: listOf(
    z.enum(endpointNames, { error: `expected one of ${endpointNames.join(", ")}` }),
    "endpoints",
  ),
} as const;

export const networkSchema = z.strictObject(networkShape, {
  error: 'expected {"vpcId": "vpc-…"}, and perhaps subnetIds and others',
});
export type NetworkSettings = z.infer<typeof networkSchema>;

/** True where synthesis has to ask AWS what the VPC looks like. */
export function needsLookup(network: NetworkSettings | undefined): boolean {
  return network !== undefined && network.subnetIds === undefined;
}

/** One text per fault of several keys together. */
export function networkFaults(network: NetworkSettings): string[] {
  const { subnetIds, availabilityZones, routeTableIds, endpoints = [] } = network;
  if (subnetIds === undefined)
    return (["availabilityZones", "routeTableIds"] as const).flatMap((key) =>
      network[key] === undefined ? [] : [`network.${key}: there are no subnetIds for it: add them`],
    );
  const faults = [
    ...onePerSubnet("availabilityZones", availabilityZones, subnetIds),
    ...(routeTableIds === undefined ? [] : onePerSubnet("routeTableIds", routeTableIds, subnetIds)),
  ];
  const routes = endpoints.filter((name) => isRoute(name));
  if (routes.length > 0 && routeTableIds === undefined)
    faults.push(
      `network.routeTableIds: the endpoint of ${routes.map((name) => serviceNames[name]).join(" and ")} is a route, and needs one per subnet: add them`,
    );
  return faults;
}

const serviceNames: Record<RouteName, string> = { dynamodb: "DynamoDB", s3: "S3" };

function onePerSubnet(key: string, found: readonly string[] = [], subnets: readonly string[] = []): string[] {
  if (found.length === subnets.length) return [];
  return [`network.${key}: expected one per subnet (${subnets.length}), found ${found.length}`];
}

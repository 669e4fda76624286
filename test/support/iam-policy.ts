/** Whether a resource's policy allows a request, as IAM decides: a deny counts most, and nothing is allowed by silence. */

export interface PolicyStatement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Principal?: string | Readonly<Record<string, string | readonly string[]>>;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface PolicyRequest {
  readonly service: string;
  readonly action: string;
  readonly resource: string;
  /** Condition keys, as `aws:SourceAccount`. */
  readonly context: Readonly<Record<string, string>>;
}

export function isAllowed(statements: readonly PolicyStatement[], request: PolicyRequest): boolean {
  const matching = statements.filter((statement) => applies(statement, request));
  return (
    matching.some(({ Effect }) => Effect === "Allow") && !matching.some(({ Effect }) => Effect === "Deny")
  );
}

function applies(statement: PolicyStatement, { service, action, resource, context }: PolicyRequest): boolean {
  return (
    list(statement.Action).some((pattern) => like(pattern, action)) &&
    list(statement.Resource).some((pattern) => like(pattern, resource)) &&
    isPrincipal(statement.Principal ?? {}, service) &&
    Object.entries(statement.Condition ?? {}).every(([operator, keys]) => holds(operator, keys, context))
  );
}

function isPrincipal(principal: NonNullable<PolicyStatement["Principal"]>, service: string): boolean {
  if (principal === "*") return true;
  if (typeof principal === "string") return false;
  return list(principal["AWS"] ?? []).includes("*") || list(principal["Service"] ?? []).includes(service);
}

const operators: Readonly<Record<string, (pattern: string, value: string) => boolean>> = {
  StringEquals: (pattern, value) => pattern === value,
  Bool: (pattern, value) => pattern === value,
  ArnLike: like,
  ArnEquals: like,
};

/** A key that the request does not have matches nothing. */
function holds(
  operator: string,
  keys: Readonly<Record<string, string | readonly string[]>>,
  context: PolicyRequest["context"],
): boolean {
  const compare = operators[operator];
  if (!compare) throw new Error(`expected one of ${Object.keys(operators)}, found ${operator}`);
  return Object.entries(keys).every(([key, patterns]) => {
    const value = context[key];
    return value !== undefined && list(patterns).some((pattern) => compare(pattern, value));
  });
}

function like(pattern: string, value: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`).test(value);
}

function list(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}

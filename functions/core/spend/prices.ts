/** List prices in USD, us-east-1, November 2026 as known; Lambda on arm64. The budget and the cost figures use these. */
export const prices = {
  asOf: "2026-11",
  region: "us-east-1",
  lambda: { usdPerGbSecond: 0.0000133334, usdPerMillionRequests: 0.2 },
  sqs: { usdPerMillionRequests: 0.4 },
  dynamodb: { usdPerMillionWriteUnits: 0.625, usdPerMillionReadUnits: 0.125, usdPerGbMonth: 0.25 },
} as const;

/**
 * Once the faults are over, messages that were deferred need not wait any longer: nothing new could happen meanwhile. And
 * somebody has seen the alarm and closes the circuit, which would let one rollout in five minutes try by then.
 */
import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import type { SystemUnderFaults } from "./fleet.ts";
import type { Interceptor } from "./proxy.ts";
import { field, operation } from "./steps.ts";

/** Shorter deferrals end by themselves soon enough. */
const SHORT_SECONDS = 5;
const MOST_AT_ONCE = 20;

/** Remembers who waits, from the functions' requests to the queue. */
export class Patience {
  readonly #waiting = new Map<string, number>();

  readonly interceptor: Interceptor = {
    after: (request, { status }) => {
      const receipt = field(request.json, "ReceiptHandle");
      const seconds = Number(field(request.json, "VisibilityTimeout"));
      if (status === 200 && operation(request) === "ChangeMessageVisibility" && seconds > SHORT_SECONDS)
        this.#waiting.set(String(receipt), Date.now());
      return "pass";
    },
  };

  /** Makes those visible that have waited for a few seconds at least. */
  async end({ system, fleet }: SystemUnderFaults): Promise<void> {
    await createGateStore({ client: system.dynamodb, table: fleet.table }).reset(fleet.name);
    const before = Date.now() - SHORT_SECONDS * 1000;
    const due = [...this.#waiting].filter(([, since]) => since <= before).map(([receipt]) => receipt);
    for (const receipt of due.slice(0, MOST_AT_ONCE)) {
      this.#waiting.delete(receipt);
      const facts = { QueueUrl: fleet.queueUrl, ReceiptHandle: receipt, VisibilityTimeout: 0 };
      // It may have come back by itself.
      await system.sqs.send(new ChangeMessageVisibilityCommand(facts)).catch(() => undefined);
    }
  }
}

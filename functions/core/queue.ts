/** The fleet's queue. */

export interface QueueRecord {
  readonly messageId: string;
  readonly receipt: string;
  readonly body: string;
  /** How often SQS has delivered it, deferrals included. */
  readonly receiveCount: number;
  /** Unix ms when it was sent, by SQS's clock. */
  readonly sentAt: number;
  /** The message's own attributes, handed on with a dead letter. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface DeadLetter {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Queue {
  /** At most so many messages, hidden for as long as those of an event; waits up to so long for the first. */
  receive(count: number, waitSeconds: number): Promise<QueueRecord[]>;
  /** Hides the message for so long, from now. */
  defer(receipt: string, seconds: number): Promise<void>;
  /** Lets messages be received at once. Those whose receipt is no longer good are passed over. */
  show(receipts: readonly string[]): Promise<void>;
  delete(receipt: string): Promise<void>;
  sendDeadLetter(letter: DeadLetter): Promise<void>;
}

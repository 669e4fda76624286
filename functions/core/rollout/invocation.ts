/** Invocations as the table knows them. */
import type { Usage } from "../spend/spend.ts";

/** A running invocation, as the table knows it. */
export interface Invocation {
  readonly id: string;
  readonly fleet: string;
  /** Unix ms when it last said that it lives, by its own clock as all times here: different at each sign. */
  readonly alive_at: number;
  /** As long after `alive_at` as its silence means death. */
  readonly silent_at: number;
  /** Unix ms when the function's time is up. */
  readonly ends_at: number;
  /** Unix ms when the sweep declared it dead, by the sweep's clock. */
  readonly dead_at?: number | undefined;
  /** Unix ms when it ended, where it left `parked` messages behind. */
  readonly ended_at?: number | undefined;
  /** Receipts of messages that it has received and is not done with. */
  readonly waiting?: readonly string[] | undefined;
  /** Receipts of messages that are hidden until the fleet's gate opens. */
  readonly parked?: readonly string[] | undefined;
  /** What it will have used at its next sign of life. Whoever takes the item away adds it to the fleet's usage. */
  readonly used?: Usage | undefined;
}

export interface InvocationStore {
  /** The first sign of life. */
  alive(invocation: Invocation): Promise<void>;
  /** A further one. False, and nothing written, where it was declared dead or its item is gone. */
  beat(invocation: Invocation): Promise<boolean>;
  /** Takes the item away; false where it was gone. */
  done(id: string): Promise<boolean>;
  read(id: string): Promise<Invocation | undefined>;
}

/** What the sweep needs of them beside. */
export interface InvocationIndex {
  /** Ids of all of a fleet that have an item, but for those of the last moments. */
  idsOf(fleet: string): Promise<string[]>;
  /** Those that have an item. */
  readAll(ids: readonly string[]): Promise<Invocation[]>;
  /** False, and nothing written, where it has said since that it lives, or is declared dead already. */
  declareDead(invocation: Invocation, now: number): Promise<boolean>;
}

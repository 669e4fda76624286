/**
 * A small model of an engine's pool and of functions that go through admission, one step at a time and in any order:
 * every step is a place where another function may come in between. Time stands still until the scheduler moves it.
 */

import type { ThrottleSetting } from "../../../functions/contract/throttle-setting.ts";
import {
  type AdmissionRules,
  type Asker,
  admissionDefaults,
  decide,
  withoutClaims,
} from "../../../functions/core/admission/admission.ts";
import type { AdmissionState, FleetAdmission } from "../../../functions/core/admission/admission-item.ts";
import { isClientOf } from "../../../functions/core/client-uuid.ts";
import type { Random } from "../../../functions/core/clock.ts";
import { type PoolInformation, poolInformationSchema } from "../../../functions/core/protocol.ts";

export interface Rollout {
  readonly fleet: string;
  readonly task: string;
  readonly client: string;
  state: "waiting" | "asking" | "admitted" | "running" | "done";
  /** The batch in which the item counts it. */
  countedIn: number | undefined;
  admittedAt: number;
  /** Not before then, after a crash. */
  notBefore: number;
}

interface Ended {
  readonly rollout: Rollout;
  readonly shownAt: number;
}

/** One function's round: what it has read so far. */
interface Asking {
  readonly fleet: string;
  readonly rollouts: Rollout[];
  stage: "item" | "pool" | "write";
  item: FleetAdmission | undefined;
  pool: PoolInformation | undefined;
  itemAt: number;
  readAt: number;
  /** The batch in which the round began: its claims are refused when a weight sync came in between. */
  readonly batch: number;
}

export interface ModelFleet {
  readonly name: string;
  readonly setting: ThrottleSetting;
}

export interface Chances {
  readonly sync: boolean;
  readonly idleMs: number;
  readonly crashes: boolean;
}

export class AdmissionModel {
  now = 1_000_000;
  step = 1;
  readonly items = new Map<string, FleetAdmission>();
  readonly rollouts: Rollout[];
  readonly rules = new Map<string, AdmissionRules>();
  /** Tasks that passed above the bound because the reference lets them: seen in an earlier batch, or an idle engine. */
  readonly excused = new Set<string>();
  conflicts = 0;
  #ended: Ended[] = [];
  #asking: Asking[] = [];
  readonly #random: Random;
  readonly #slots: number;

  constructor(
    random: Random,
    fleets: readonly ModelFleet[],
    rollouts: Rollout[],
    slots: number,
    idleMs: number,
  ) {
    this.#random = random;
    this.#slots = slots;
    this.rollouts = rollouts;
    for (const { name, setting } of fleets)
      this.rules.set(name, {
        ...admissionDefaults,
        idleMs,
        setting,
        isOurs: (uuid) => isClientOf(name, uuid),
      });
  }

  /** What is in the batch in truth, shown or not. */
  tasksInBatch(fleet: string): Set<string> {
    const running = this.rollouts.filter((rollout) => rollout.state === "running");
    const all = [...running, ...this.#ended.map(({ rollout }) => rollout)];
    return new Set(all.filter((rollout) => rollout.fleet === fleet).map(({ task }) => task));
  }

  pool(): PoolInformation {
    const running = this.rollouts.filter((rollout) => rollout.state === "running");
    const shown = this.#ended.filter(({ shownAt }) => shownAt <= this.now);
    const completed = Map.groupBy(shown, ({ rollout }) => rollout.task);
    return poolInformationSchema.parse({
      engine_status: "ENGINE.ROLLING",
      global_step: this.step,
      running_episode_details:
        running.length === 0
          ? null
          : Object.fromEntries(
              running.map(({ client, task }, index) => [
                `e${index}`,
                { client_uuid: client, optional_task_id: task },
              ]),
            ),
      completed_tasks_client_uuids: Object.fromEntries(
        [...completed].map(([task, ended]) => [task, ended.map(({ rollout }) => rollout.client)]),
      ),
    });
  }

  /** Something happens. */
  act(chances: Chances): void {
    const kinds = ["gather", "proceed", "proceed", "proceed", "claim", "claim", "end", "fail", "time"];
    const kind = this.#pick(kinds);
    if (chances.sync && this.#random() < 0.01) this.sync();
    else if (chances.crashes && this.#random() < 0.03) this.#crash();
    else if (kind === "gather") this.#gather();
    else if (kind === "proceed") this.#proceed(this.#pick(this.#asking));
    else if (kind === "claim") this.#claim(this.#pick(this.#in("admitted")));
    else if (kind === "end") this.#end(this.#pick(this.#in("running")));
    else if (kind === "fail" && this.#random() < 0.3) this.#fail(this.#pick(this.#in("running")));
    else this.#pass(Math.floor(this.#random() ** 4 * 40_000));
  }

  /** A claim is sent at once and has its answer within half a minute; a round reads and decides within 20 s. */
  #pass(ms: number): void {
    for (const rollout of this.#in("admitted"))
      if (this.now + ms > rollout.admittedAt + 30_000) this.#claim(rollout);
    for (const asking of this.#asking)
      while (this.#asking.includes(asking) && this.now + ms > asking.itemAt + 20_000) this.#proceed(asking);
    this.now += ms;
  }

  /** Everything that runs ends, everything that ended is shown, and nobody is half-way. */
  settle(): void {
    while (this.#asking.length > 0) this.#proceed(this.#asking[0]);
    for (const rollout of this.#in("admitted")) this.#claim(rollout);
    for (const rollout of this.#in("running")) this.#end(rollout);
    this.now += 20_000;
  }

  /** One look of a function at once, without anybody in between. Resolves to who was admitted. */
  ask(fleet: string, task: string): boolean {
    const rollout: Rollout = {
      fleet,
      task,
      client: `${fleet}/late.1`,
      state: "asking",
      countedIn: undefined,
      admittedAt: 0,
      notBefore: 0,
    };
    this.rollouts.push(rollout);
    const asking: Asking = {
      fleet,
      rollouts: [rollout],
      stage: "item",
      item: undefined,
      pool: undefined,
      itemAt: this.now,
      readAt: 0,
      batch: this.step,
    };
    this.#asking.push(asking);
    while (this.#asking.includes(asking)) this.#proceed(asking);
    return (rollout.state as Rollout["state"]) === "admitted";
  }

  /** A look of a function that has nothing to ask. */
  look(fleet: string): void {
    const rules = this.rules.get(fleet);
    const item = this.items.get(fleet);
    const next = rules && decide(item, this.pool(), [], rules, this.now).next;
    if (next) this.#write(fleet, item, next);
  }

  sync(): void {
    this.step += 1;
    this.#ended = [];
    this.excused.clear();
    for (const rollout of [...this.#in("running"), ...this.#in("admitted")]) rollout.state = "waiting";
  }

  #gather(): void {
    const fleet = this.#pick([...this.rules.keys()]);
    const waiting = this.#in("waiting").filter((one) => one.fleet === fleet && one.notBefore <= this.now);
    const size = 1 + Math.floor(this.#random() * 10);
    const rollouts = this.#shuffle(waiting).slice(0, size);
    if (fleet === undefined || rollouts.length === 0) return;
    for (const rollout of rollouts) rollout.state = "asking";
    this.#asking.push({
      fleet,
      rollouts,
      stage: "item",
      item: undefined,
      pool: undefined,
      itemAt: this.now,
      readAt: 0,
      batch: this.step,
    });
  }

  #proceed(asking: Asking | undefined): void {
    if (asking === undefined) return;
    if (asking.stage === "item") {
      asking.item = this.items.get(asking.fleet);
      asking.itemAt = this.now;
      // As the desk does: a retry looks again only where the batch moved.
      const same = asking.pool !== undefined && asking.item?.global_step === asking.pool.global_step;
      asking.stage = same ? "write" : "pool";
    } else if (asking.stage === "pool") {
      asking.pool = this.pool();
      asking.readAt = this.now;
      asking.stage = "write";
    } else this.#decide(asking);
  }

  #decide(asking: Asking): void {
    const { fleet, item, pool, rollouts } = asking;
    const rules = this.rules.get(fleet);
    if (!rules || !pool) throw new Error("the round has read nothing");
    const askers = rollouts.map(
      ({ task, countedIn, admittedAt }): Asker => ({
        taskId: task,
        counted: countedIn === pool.global_step && asking.readAt - admittedAt < rules.reservationMs,
      }),
    );
    const { verdicts, next } = decide(item, pool, askers, rules, asking.readAt);
    if (next && !this.#write(fleet, item, next)) {
      asking.stage = "item";
      return;
    }
    this.#asking = this.#asking.filter((other) => other !== asking);
    for (const [index, rollout] of rollouts.entries()) {
      rollout.state = "waiting";
      if (verdicts[index]?.admitted) this.#admit(rollout, asking, pool);
    }
  }

  #admit(rollout: Rollout, { item, batch }: Asking, pool: PoolInformation): void {
    rollout.admittedAt = this.now;
    rollout.countedIn = pool.global_step ?? undefined;
    this.#excuse(rollout, item, pool);
    if (batch === this.step) rollout.state = "admitted";
  }

  #excuse({ task, fleet }: Rollout, item: FleetAdmission | undefined, pool: PoolInformation): void {
    const placed = item?.global_step === pool.global_step && item?.places[task] !== undefined;
    const shown = this.tasksInBatch(fleet).has(task);
    if (item?.seen.includes(task) && !placed && !shown) this.excused.add(task);
    const idle = Number.isFinite(this.rules.get(fleet)?.idleMs) && pool.running_episode_details === null;
    if (idle && !placed) this.excused.add(task);
  }

  #claim(rollout: Rollout | undefined): void {
    if (rollout === undefined) return;
    if (this.#in("running").length < this.#slots) rollout.state = "running";
    else {
      rollout.state = "waiting";
      if (this.#random() < 0.5) this.#release(rollout);
    }
  }

  #release(rollout: Rollout): void {
    const item = this.items.get(rollout.fleet);
    if (item?.global_step === rollout.countedIn) {
      const next = item && withoutClaims(item, [rollout.task]);
      if (next) this.#write(rollout.fleet, item, next);
    }
    rollout.countedIn = undefined;
  }

  #end(rollout: Rollout | undefined): void {
    if (rollout === undefined) return;
    rollout.state = "done";
    this.#ended.push({ rollout, shownAt: this.now + Math.floor(this.#random() * 12_000) });
  }

  #fail(rollout: Rollout | undefined): void {
    if (rollout === undefined) return;
    rollout.state = "waiting";
    rollout.countedIn = undefined;
    rollout.notBefore = this.now + Math.floor(this.#random() * 100_000);
  }

  /** A function dies with a rollout that was admitted or in a round; another one gets it later. */
  #crash(): void {
    const asking = this.#pick(this.#asking);
    if (asking) this.#asking = this.#asking.filter((other) => other !== asking);
    const admitted = this.#pick(this.#in("admitted"));
    for (const rollout of [...(asking?.rollouts ?? []), ...(admitted ? [admitted] : [])]) {
      rollout.state = "waiting";
      rollout.countedIn = undefined;
      rollout.notBefore = this.now + 30_000;
    }
  }

  #write(fleet: string, previous: FleetAdmission | undefined, next: AdmissionState): boolean {
    if (this.items.get(fleet)?.version !== previous?.version) {
      this.conflicts += 1;
      return false;
    }
    const written = { ...next, version: (previous?.version ?? 0) + 1, stamp: "", changed_at: this.now };
    this.items.set(fleet, written);
    return true;
  }

  #in(state: Rollout["state"]): Rollout[] {
    return this.rollouts.filter((rollout) => rollout.state === state);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  #shuffle<T>(from: readonly T[]): T[] {
    return from
      .map((one) => ({ one, at: this.#random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }
}

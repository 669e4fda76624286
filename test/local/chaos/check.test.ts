import { describe, expect, it } from "vitest";
import type { Evidence } from "../../../local/chaos/check/evidence.ts";
import { checkAll, recoveryTimes } from "../../../local/chaos/check/index.ts";
import { PROXY_WORDS } from "../../../local/chaos/proxy-answers.ts";
import type { LedgerEvent } from "../../../local/engine/ledger.ts";
import {
  abort,
  claim,
  evidenceOf,
  itemOf,
  KEY,
  ledgerOf,
  openAttempt,
  output,
  past,
  START,
} from "./evidence.ts";

/** Numbers of the statements that are violated, with what is said about it. */
function violated(evidence: Evidence): [number, string][] {
  return checkAll(evidence).flatMap(({ number, violations }) =>
    violations.map(({ what }): [number, string] => [number, what]),
  );
}
const dead = { state: "dead", attempts: 3, letter: "sent" } as const;
const threeErrors = [1, 2, 3].map((serial) => past("agent-error", { id: `i1.${serial}` }));
const letterFor = (reason: string) => ({ body: "{}", attributes: { rollout: KEY, reason } });

it("finds nothing wrong with a rollout that was claimed, ended and written down", () => {
  expect(violated(evidenceOf())).toEqual([]);
});

it("judges another worker by its rollouts and the ledger alone", () => {
  const { items: _, letters: __, ...bare } = evidenceOf();
  expect(violated(bare)).toEqual([]);
  expect(violated({ ...bare, pushed: [KEY, "other"] })).toEqual([
    [1, "expected an output at the engine, found none"],
  ]);
});

it("takes another worker's own mapping of outputs to rollouts", () => {
  const { items: _, ...bare } = evidenceOf({ pushed: ["main/i1.1"] });
  expect(violated({ ...bare, rolloutOf: ({ clientUuid }) => clientUuid })).toEqual([]);
});

describe("an end that the engine answered as a success and never delivered", () => {
  const ledger = ledgerOf(claim("main/i1.1"), {
    kind: "end",
    accepted: true,
    delivered: false,
    episodeType: "train",
    refusal: "",
    clientUuid: "main/i1.1",
    episodeUuid: "e1",
    taskId: "task-1",
    output: { reward: 0.5, is_success: true, metadata: { rollout: KEY }, log_metrics: {} },
  });

  it.each([
    ["is counted", evidenceOf({ ledger })],
    [
      "is counted once the batch has passed without it",
      evidenceOf({ ledger, item: itemOf({ confirmed_at: null }) }),
    ],
    ["is counted for another worker", { pushed: [KEY], ledger, openAtEngine: 0 }],
  ])("%s", (_, evidence) => {
    expect(violated(evidence)).toEqual([]);
    expect(checkAll(evidence)[0]?.counts).toMatchObject({ ended: 0, undelivered: 1 });
  });

  it("is not confirmed", () => {
    expect(violated(evidenceOf({ ledger, item: itemOf({ confirmed_at: START }) }))).toEqual([
      [1, "the table says confirmed, the trainer never got it"],
    ]);
  });
});

describe("1: nothing is lost", () => {
  const nothing = { ledger: [] };
  it.each([
    ["is not in the table", { items: new Map() }, "expected the rollout in the table, found nothing"],
    ["waits for ever", { item: itemOf({ state: "waiting" }) }, "expected a final state, found waiting"],
    ["ended in the table alone", nothing, "the table says ended, the engine has no output"],
    [
      "is dead without a letter",
      { ...nothing, item: itemOf({ ...dead, history: threeErrors }) },
      "the table says dead, there is no dead letter with a reason",
    ],
    [
      "is dead although its reward was taken",
      { item: itemOf({ ...dead, history: threeErrors }), letters: [letterFor("agent-error")] },
      "the table says dead, the engine took an output",
    ],
  ])("sees a rollout that %s", (_, facts, what) => {
    expect(violated(evidenceOf(facts))).toEqual([[1, what]]);
  });

  it("accepts a dead letter with its reason, and counts what cannot be known apart", () => {
    const item = itemOf({ ...dead, history: threeErrors });
    expect(violated(evidenceOf({ ...nothing, item, letters: [letterFor("agent-error")] }))).toEqual([]);
    const unknown = itemOf({ state: "unknown", attempts: 1, history: [past("unknown")] });
    const [lost] = checkAll(evidenceOf({ ...nothing, item: unknown }));
    expect(lost?.counts).toMatchObject({ ended: 0, unknown: 1, dead: 0 });
  });

  it("sees a message that is no rollout and was not buried", () => {
    expect(violated(evidenceOf({ invalid: ["{"] }))).toEqual([
      [1, "expected a dead letter for the message {, found none"],
    ]);
    const letters = [{ body: "{", attributes: { reason: "invalid-message" } }];
    expect(violated(evidenceOf({ invalid: ["{"], letters }))).toEqual([]);
  });

  it("sees a reward that is not the agent's", () => {
    const ledger = ledgerOf(claim("main/i1.1"), output("main/i1.1", { told: 0.9 }));
    expect(violated(evidenceOf({ ledger }))).toEqual([
      [1, "expected the agent's reward 0.9, the engine took 0.5"],
    ]);
  });
});

describe("2: nothing counts twice", () => {
  it("sees two outputs of one rollout", () => {
    const events = [1, 2].flatMap((serial): LedgerEvent[] => [
      claim(`main/i1.${serial}`, `e${serial}`),
      output(`main/i1.${serial}`, { episodeUuid: `e${serial}` }),
    ]);
    expect(violated(evidenceOf({ ledger: ledgerOf(...events) }))).toEqual([
      [2, "2 outputs reached the trainer: e1 by main/i1.1, e2 by main/i1.2"],
    ]);
  });

  it("sees a redrive that was sent more than once, or does not know that it may have been", () => {
    const redriven = { sends: 1, outcome: "unsure" };
    expect(violated(evidenceOf({ redriven }))).toEqual([]);
    for (const wrong of [
      { ...redriven, sends: 2 },
      { ...redriven, outcome: "sent" },
    ])
      expect(violated(evidenceOf({ redriven: wrong }))).toEqual([
        [
          2,
          `a redrive whose answer was lost: expected 1 sending and unsure, found ${wrong.sends} and ${wrong.outcome}`,
        ],
      ]);
  });

  it("sees another reward in the table than at the engine", () => {
    const item = itemOf({ history: [past("ended", { reward: 0.25 })] });
    expect(violated(evidenceOf({ item }))).toEqual([[2, "the table says reward 0.25, the engine took 0.5"]]);
  });

  it("sees an output that belongs to nobody", () => {
    const ledger = ledgerOf(
      claim("main/i1.1"),
      output("main/i1.1"),
      claim("main/i9.1", "e9"),
      output("main/i9.1", { episodeUuid: "e9", rollout: "x" }),
    );
    expect(violated(evidenceOf({ ledger }))).toEqual([[2, "1 outputs of nobody's rollout x"]]);
  });
});

describe("3: nothing stays open", () => {
  const kills = [{ at: START + 500, kind: "kill-random" as const, invocation: "i1" }];
  it("sees episodes that are still claimed", () => {
    expect(violated(evidenceOf({ openAtEngine: 2 }))).toEqual([
      [3, "2 episodes are still claimed at the engine"],
    ]);
  });

  it("sees an attempt that is still open in the table", () => {
    const item = itemOf({ state: "running", history: [], attempt: openAttempt() });
    expect(violated(evidenceOf({ item }))).toContainEqual([3, "an attempt is still running in the table"]);
  });

  it("measures from the crash until engine and table both know", () => {
    const item = itemOf({ history: [past("ended", { reward: 0.5, at: START + 9500 })] });
    expect(recoveryTimes(evidenceOf({ item, kills }))).toEqual({ count: 1, median: 9, max: 9 });
    expect(violated(evidenceOf({ item, kills, settleWithinMs: 8000 }))).toEqual([
      [3, "kill-random: expected it settled within 8 s, found it after 9.0 s"],
    ]);
    expect(violated(evidenceOf({ item, kills, settleWithinMs: 10_000 }))).toEqual([]);
  });

  it("does not count the time in which the table or the engine was away", () => {
    const item = itemOf({ history: [past("ended", { reward: 0.5, at: START + 9500 })] });
    const away = (...spans: [number, number][]) => ({
      outages: spans.map(([from, to]) => ({ from: START + from, to: START + to })),
    });
    const within = (outages: Pick<Evidence, "outages">) =>
      violated(evidenceOf({ item, kills, settleWithinMs: 8000, ...outages }));
    expect(within(away([2000, 3000]))).toEqual([]);
    expect(within(away([0, 1000]))).toHaveLength(1);
    // Together half a second.
    expect(within(away([3000, 3500], [3100, 3400]))).toHaveLength(1);
    expect(within(away([3000, 3500], [9000, 60_000]))).toEqual([]);
  });

  it("sees an episode of a crashed function that nobody ever gives back", () => {
    const evidence = evidenceOf({
      kills,
      settleWithinMs: 10_000,
      ledger: ledgerOf(claim("main/i1.7", "e7")),
    });
    expect(violated(evidence)).toContainEqual([
      3,
      "kill-random: expected it settled within 10 s, found it never",
    ]);
  });

  it("does not count what a crashed function had settled before", () => {
    const late = [{ ...kills[0], at: START + 5000, kind: "kill-random" as const, invocation: "i1" }];
    expect(recoveryTimes(evidenceOf({ kills: late })).count).toBe(0);
  });
});

describe("4: waiting is not failing", () => {
  it("sees an attempt that a proxy's answer ended", () => {
    const detail = `end_episode refused with HTTP 403: <h1>${PROXY_WORDS}</h1>`;
    const dropped = itemOf({
      history: [past("engine-refused", { detail }), past("ended", { id: "i1.2", reward: 0.5 })],
    });
    expect(violated(evidenceOf({ item: dropped }))).toContainEqual([
      4,
      `a proxy's answer ended an attempt: engine-refused, ${detail}`,
    ]);
    const waited = itemOf({
      history: [past("engine-unreachable", { detail }), past("ended", { id: "i1.2", reward: 0.5 })],
    });
    expect(violated(evidenceOf({ item: waited }))).toEqual([]);
  });

  const history = [
    past("engine-left-rolling"),
    past("agent-error", { id: "i1.2" }),
    past("ended", { id: "i1.3", reward: 0.5 }),
  ];
  it("accepts what the rollout is to blame for, and nothing else", () => {
    expect(violated(evidenceOf({ item: itemOf({ history, attempts: 1 }) }))).toEqual([]);
    expect(violated(evidenceOf({ item: itemOf({ history, attempts: 2 }) }))).toEqual([
      [
        4,
        "expected 1 attempts used up (0 perhaps excused), found 2: engine-left-rolling, agent-error, ended",
      ],
    ]);
  });

  it("sees a failure that was not counted, unless the circuit was open then", () => {
    const item = itemOf({ history, attempts: 0 });
    expect(violated(evidenceOf({ item })).map(([number]) => number)).toEqual([4]);
    const tripped = [{ from: START, to: START + 2000 }];
    expect(violated(evidenceOf({ item, tripped }))).toEqual([]);
  });

  describe("harm that an agent does to its thread or process", () => {
    const detail = "the agent blocked the event loop for 4 s, in spin (agent.mjs:3:1)";
    const history = [past("agent-error", { detail }), past("ended", { id: "i1.2", reward: 0.5 })];
    const item = itemOf({ history, attempts: 1 });
    const charge = "expected no charge for a healthy agent, found";

    it("is charged to who did it alone", () => {
      expect(violated(evidenceOf({ item, misbehaved: new Set(["i1.1"]) }))).toEqual([]);
      expect(violated(evidenceOf({ item, misbehaved: new Set(["i9.1"]) }))).toEqual([
        [4, `${charge} agent-error: ${detail}`],
      ]);
    });

    it("costs the others nothing at all where nothing else disturbs the run", () => {
      const lost = itemOf({ history: [past("episode-lost"), past("ended", { reward: 0.5 })], attempts: 1 });
      const guilty = new Map([["run/r/train/0/other", "spin" as const]]);
      expect(violated(evidenceOf({ item: lost, guilty }))).toEqual([]);
      expect(violated(evidenceOf({ item: lost, guilty, guiltyAlone: true }))).toEqual([
        [4, `${charge} episode-lost: undefined`],
      ]);
      const excused = itemOf({ history: [past("disturbed"), past("ended", { reward: 0.5 })] });
      expect(violated(evidenceOf({ item: excused, guilty, guiltyAlone: true }))).toEqual([]);
    });

    it("ends in a dead letter that says what it did", () => {
      const guilty = new Map([[KEY, "exit" as const]]);
      const said = (error: string) => {
        const letter = { body: "{}", attributes: { rollout: KEY, reason: "agent-error", error } };
        const facts = { ledger: [], item: itemOf({ ...dead, history: threeErrors }), letters: [letter] };
        return violated(evidenceOf({ ...facts, guilty, guiltyAlone: true }));
      };
      expect(said("called process.exit(1) at agent (agent.mjs:3:1)")).toEqual([]);
      expect(said("the agent failed")).toEqual([
        [4, 'expected a dead letter that says what exit did, found "the agent failed"'],
      ]);
      expect(violated(evidenceOf({ guilty }))).toEqual([
        [4, "expected a dead letter for exit at every attempt, found ended"],
      ]);
    });
  });

  it("sees an episode that lost its result over what must cost none", () => {
    const history = [past("suspected", { detail: "silent" }), past("ended", { id: "i1.2", reward: 0.5 })];
    const facts = { item: itemOf({ history }) };
    expect(violated(evidenceOf(facts))).toEqual([]);
    expect(violated(evidenceOf({ ...facts, costsNothing: true }))).toEqual([
      [4, "expected every healthy episode to end with its result, found suspected: silent"],
    ]);
    const synced = [past("engine-left-rolling"), past("ended", { id: "i1.2", reward: 0.5 })];
    expect(violated(evidenceOf({ item: itemOf({ history: synced }), costsNothing: true }))).toEqual([]);
  });

  it("sees a dead letter for what no rollout is to blame for", () => {
    const letters = [letterFor("engine-unreachable")];
    expect(violated(evidenceOf({ letters }))).toEqual([
      [4, "a dead letter for the reason engine-unreachable"],
    ]);
  });
});

describe("5: the mix holds", () => {
  const throttle = { ratio: 1, batchSize: 1 };
  const first = [claim("main/i1.1"), output("main/i1.1")];
  it("sees one task too many in the batch, running or ended", () => {
    const ledger = ledgerOf(...first, claim("main/i1.2", "e2", "task-2"), abort("main/i1.2"));
    expect(violated(evidenceOf({ ledger, throttle }))).toEqual([
      [5, "expected at most 1 different tasks in the batch, found 2 with task-2"],
    ]);
    expect(violated(evidenceOf({ ledger, throttle: { ratio: 1.5, batchSize: 1 } }))).toEqual([]);
  });

  it("lets a task pass that the fleet has had before", () => {
    const again = [claim("main/i1.2", "e1", "task-2"), abort("main/i1.2")];
    const sync: LedgerEvent = { kind: "status", status: "ENGINE.WEIGHT_SYNCING" };
    const ledger = ledgerOf(...again, sync, ...first, claim("main/i1.3", "e3", "task-2"));
    expect(violated(evidenceOf({ ledger, throttle }))).toEqual([]);
  });

  it("lets an idle engine take a new task in, one at a time and once the fleet has been full for 10 s", () => {
    const wait = (seconds: number): LedgerEvent[] =>
      Array.from({ length: seconds }, () => ({ kind: "status", status: "ENGINE.ROLLING" }));
    const second = claim("main/i1.2", "e2", "task-2");
    const third = claim("main/i1.3", "e3", "task-3");
    const mixOf = (...events: LedgerEvent[]) =>
      violated(evidenceOf({ ledger: ledgerOf(...first, ...events), throttle })).filter(
        ([number]) => number === 5,
      );
    expect(mixOf(...wait(9), second)).toEqual([]);
    expect(mixOf(...wait(7), second)).toHaveLength(1);
    expect(mixOf(...wait(9), second, third)).toEqual([
      [5, "expected at most 1 different tasks in the batch, found 3 with task-3"],
    ]);
  });

  it("forgets a task that was given back, and a batch that is over", () => {
    const back = ledgerOf(
      claim("main/i1.0"),
      abort("main/i1.0"),
      claim("main/i1.1", "e1", "task-2"),
      output("main/i1.1"),
    );
    expect(violated(evidenceOf({ ledger: back, throttle }))).toEqual([]);
    const next = ledgerOf(
      ...first,
      { kind: "status", status: "ENGINE.WEIGHT_SYNCING" },
      claim("main/i1.2", "e2", "task-2"),
    );
    expect(violated(evidenceOf({ ledger: next, throttle }))).toEqual([]);
  });
});

describe("6: fenced", () => {
  it("sees an abort on behalf of somebody else that took effect", () => {
    const ledger = ledgerOf(
      claim("main/i2.1"),
      abort("main/i9.1", "main/i2.1"),
      claim("main/i1.1"),
      output("main/i1.1"),
    );
    expect(violated(evidenceOf({ ledger }))).toEqual([[6, "aborted by main/i9.1, held by main/i2.1"]]);
  });

  it("does not mind one without effect", () => {
    const ledger = ledgerOf(claim("main/i1.1"), abort("main/i9.1", "main/i1.1", "none"), output("main/i1.1"));
    expect(violated(evidenceOf({ ledger }))).toEqual([]);
  });

  it("sees an end of what somebody else holds by now", () => {
    const ledger = ledgerOf(claim("main/i1.1"), abort("main/i1.1"), claim("main/i2.1"), output("main/i1.1"));
    expect(violated(evidenceOf({ ledger }))).toEqual([[6, "ended by main/i1.1, held by main/i2.1"]]);
  });

  it("accepts an output that was under way when the engine took the idle episode back", () => {
    const discard: LedgerEvent = { kind: "discard", clientUuid: "main/i1.1", episodeUuid: "e1" };
    expect(
      violated(evidenceOf({ ledger: ledgerOf(claim("main/i1.1"), discard, output("main/i1.1")) })),
    ).toEqual([]);
  });
});

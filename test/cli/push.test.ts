import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { anItem } from "../functions/core/items.ts";
import { receiveNow } from "../local/helpers/queues.ts";
import { sendText, serve } from "../support/http-server.ts";
import { sortie as sortieProcess } from "./command.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Circumstances, type Ran, sortie } from "./here.ts";

let deployed: Deployed;
let folder: string;

beforeAll(async () => {
  deployed = await startDeployment(["main", "math"]);
  folder = await mkdtemp(join(tmpdir(), "push-"));
});
afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  for (const { queueUrl } of deployed.fleets)
    await deployed.sqs.send(new PurgeQueueCommand({ QueueUrl: queueUrl }));
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const tasks = (...ids: string[]) =>
  ids.map((task_id) => `${JSON.stringify({ task_id, main_query: "?" })}\n`).join("");

async function push(args: readonly string[], given: Circumstances = {}): Promise<Ran> {
  return await sortie(["push", "--fleet", "main", ...args], { environment: deployed.environment, ...given });
}

/** What the queue holds, as the rollout function will read it. */
async function pushed(name = "main"): Promise<ReturnType<typeof decodeMessage>[]> {
  const queueUrl = deployed.fleets.find((fleet) => fleet.name === name)?.queueUrl ?? "";
  const rollouts: ReturnType<typeof decodeMessage>[] = [];
  for (;;) {
    const letters = await receiveNow(deployed.sqs, queueUrl);
    if (letters.length === 0) break;
    rollouts.push(...letters.map(({ Body = "", MessageId = "" }) => decodeMessage(Body, MessageId)));
  }
  return rollouts;
}
const keys = async (name?: string) => (await pushed(name)).map(({ key }) => key).sort();

/** The rollout's item, as the functions would have left it. */
async function leave(key: string, state: "ended" | "dead" | "unknown" | "waiting"): Promise<void> {
  const store = createRolloutStore({ ...deployed.table, ttlDays: 1 });
  await store.move(undefined, anItem({ key, state, stamp: `${key}-${state}` }));
}

describe("sortie push", () => {
  test("makes as many rollouts of each task as --repeats says, all of one run", async () => {
    const path = await file("two.jsonl", tasks("a", "b"));
    const ran = await push([path, "--repeats", "2", "--run", "monday"]);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toBe("Run monday: 2 tasks × 2 repeats = 4 rollouts; 4 pushed to fleet main.\n");
    expect(await keys()).toEqual([
      "run/monday/train/0/a",
      "run/monday/train/0/b",
      "run/monday/train/1/a",
      "run/monday/train/1/b",
    ]);
  });

  test("names the run after the tasks: the same tasks, the same run", async () => {
    const path = await file("named.jsonl", tasks("a", "b"));
    const other = await file("other.json", `[${tasks("a").trim()},\n{"task_id":"b","main_query":"?"}]`);
    const { run } = (await push([path, "--json", "--dry-run"])).json() as { run: string };
    expect(run).toMatch(/^push-[0-9a-f]{16}$/);
    const again = [[other], [path, "--shuffle", "3"], [path, "--limit", "1"], [path, "--repeats", "8"]];
    for (const args of again)
      expect((await push([...args, "--json", "--dry-run"])).json()).toMatchObject({ run });
    const changed = await file("changed.jsonl", tasks("a", "c"));
    expect((await push([changed, "--json", "--dry-run"])).json()).not.toMatchObject({ run });
  });

  test("pushes eval rollouts and a discard timeout where it is told to", async () => {
    const path = await file("one.jsonl", tasks("a"));
    await push([path, "--eval", "--discard-timeout", "60.5", "--run", "r"]);
    expect(await pushed()).toEqual([
      expect.objectContaining({ key: "run/r/eval/0/a", episodeType: "eval", discardTimeout: 60.5 }),
    ]);
  });

  test("pushes to the fleet that it is told, and refuses to guess", async () => {
    const path = await file("one.jsonl", tasks("a"));
    await sortie(["push", path, "--fleet", "math", "--run", "r"], { environment: deployed.environment });
    expect(await keys("math")).toEqual(["run/r/train/0/a"]);
    const guess = await sortie(["push", path], { environment: deployed.environment });
    expect(guess).toMatchObject({ code: 1, out: "" });
    expect(guess.err).toBe("sortie: expected --fleet, since there are several (main, math): name one\n");
    const wrong = await sortie(["push", path, "--fleet", "maths"], { environment: deployed.environment });
    expect(wrong.err).toBe('sortie: expected one of the fleets (main, math), found "maths"\n');
  });

  test("reads CSV with a mapping, several files, and standard input", async () => {
    const csv = await file("gsm.csv", "question,answer\n6 × 7?,42\n");
    const map = ["--map", "main_query=question,metadata.answer=answer"];
    const ran = await push([csv, "-", ...map, "--run", "r"], { input: '{"question":"1+1?","answer":"2"}\n' });
    expect(ran.out).toContain("2 pushed");
    const found = (await pushed()).map(({ task }) => [task.main_query, task.metadata["answer"]]);
    expect(found.sort()).toEqual([
      ["1+1?", "2"],
      ["6 × 7?", "42"],
    ]);
  });

  test("reads standard input as a process too", async () => {
    const ran = await sortieProcess(
      ["push", "-", "--fleet", "main", "--run", "r"],
      deployed.environment,
      tasks("a", "b"),
    );
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(await keys()).toEqual(["run/r/train/0/a", "run/r/train/0/b"]);
  });

  test("keeps to --limit after --shuffle, and pushes what it says in a --dry-run not at all", async () => {
    const path = await file("ten.jsonl", tasks(..."abcdefghij"));
    const dry = await push([path, "--limit", "3", "--dry-run"]);
    expect(dry.out).toMatch(/^Run push-\w+: 3 tasks × 1 repeat = 3 rollouts; nothing pushed: a dry run\.\n$/);
    expect(await keys()).toEqual([]);
    await push([path, "--limit", "3", "--shuffle", "1", "--run", "r"]);
    const first = await keys();
    expect(first).toHaveLength(3);
    expect(first).not.toEqual(["run/r/train/0/a", "run/r/train/0/b", "run/r/train/0/c"]);
  });

  test("carries every character that JSON can hold", async () => {
    const query = '🙂 \ufffe\uffff\u0000\u2028 語 \\ "';
    const path = await file("odd.jsonl", JSON.stringify({ task_id: "🙂", main_query: query }));
    expect((await push([path, "--run", "r"])).code).toBe(0);
    expect((await pushed())[0]?.task).toMatchObject({ task_id: "🙂", main_query: query });
  });

  test("pushes more than a batch of ten and more than a chunk of a hundred", async () => {
    const ids = Array.from({ length: 251 }, (_, index) => `t${index}`);
    const ran = await push([
      await file("many.jsonl", tasks(...ids)),
      "--repeats",
      "3",
      "--run",
      "r",
      "--json",
    ]);
    expect(ran.json()).toMatchObject({ rollouts: 753, pushed: 753, refused: [] });
    expect(new Set(await keys()).size).toBe(753);
  }, 30_000);
});

describe("pushing again", () => {
  test("leaves out what the table shows as ended, and says how to run it once more", async () => {
    const path = await file("again.jsonl", tasks("a", "b", "c", "d"));
    await leave("run/again/train/0/a", "ended");
    await leave("run/again/train/0/b", "unknown");
    await leave("run/again/train/0/c", "dead");
    await leave("run/again/train/0/d", "waiting");
    const ran = await push([path, "--run", "again", "--json"]);
    expect(ran.json()).toMatchObject({ pushed: 1, skipped: { ended: 1, unknown: 1, dead: 1 } });
    expect(await keys()).toEqual(["run/again/train/0/d"]);
  });

  test("says of dead rollouts what tries them anew, letters or no letters", async () => {
    await leave("run/dead/train/0/a", "dead");
    const ran = await push([await file("dead.jsonl", tasks("a")), "--run", "dead"]);
    expect(ran.out).toContain(
      "Not pushed again: 1 that are dead in this run; sortie dead list says why, sortie dead redrive tries them anew. " +
        "Where their letters were purged, only another run does: name it with --run.\n",
    );
  });

  test("of a run that has ended says how to run it once more", async () => {
    await leave("run/over/train/0/a", "ended");
    const ran = await push([await file("over.jsonl", tasks("a")), "--run", "over"]);
    expect(ran.out).toBe(
      "Run over: 1 task × 1 repeat = 1 rollout; 0 pushed to fleet main.\nNot pushed again: 1 that have ended in this run " +
        "already. To run these tasks once more, name another run with --run.\n",
    );
  });

  test("asks nobody with --no-check", async () => {
    await leave("run/blind/train/0/a", "ended");
    await push([await file("blind.jsonl", tasks("a")), "--run", "blind", "--no-check"]);
    expect(await keys()).toEqual(["run/blind/train/0/a"]);
  });

  test("works with a queue's address alone", async () => {
    const args = ["push", await file("one.jsonl", tasks("a")), "--run", "r", "--no-check"];
    const ran = await sortie([...args, "--queue-url", deployed.main.queueUrl, "--stack", "Nowhere"], {
      environment: deployed.environment,
    });
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(await keys()).toEqual(["run/r/train/0/a"]);
  });
});

describe("faulty records", () => {
  const text = `{"task_id":"a","main_query":"?"}\n{"task_id":""}\nnonsense\n{"task_id":"a","main_query":"?"}\n{"task_id":"big","main_query":"${"x".repeat(1_048_576)}"}\n{"task_id":"z","main_query":"?"}\n`;

  test("are all told by line, and nothing is pushed", async () => {
    const ran = await push([await file("faulty.jsonl", text), "--run", "r"]);
    expect(ran).toMatchObject({ code: 1, out: "" });
    const lines = ran.err.trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual([
      "faulty.jsonl:2:",
      "faulty.jsonl:3:",
      "faulty.jsonl:4:",
      "faulty.jsonl:5:",
      "sortie:",
    ]);
    expect(lines[2]).toBe(
      'faulty.jsonl:4: task_id "a" stands at faulty.jsonl:1 already: give each task its own, or use --repeats',
    );
    expect(lines[3]).toMatch(
      /^faulty.jsonl:5: expected a message of at most 1048576 bytes \(SQS's limit\), found 10486\d\d/,
    );
    expect(lines[4]).toBe(
      "sortie: 4 faulty records, so nothing was pushed: correct them, or push the others with --skip-invalid",
    );
    expect(await keys()).toEqual([]);
  });

  test("are left out with --skip-invalid, and the run's name is told for their correction", async () => {
    const ran = await push([await file("faulty.jsonl", text), "--skip-invalid"]);
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(
      /^Run (push-\w+): 2 tasks × 1 repeat = 2 rollouts; 2 pushed to fleet main\.\nLeft out: 4 faulty records; give --run \1 when/,
    );
    expect((await keys()).map((key) => key.slice(-1))).toEqual(["a", "z"]);
  });

  test("are told as JSON too", async () => {
    const ran = await push([await file("bad.jsonl", "nonsense\n"), "--json"]);
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({
      pushed: 0,
      fault_count: 1,
      faults: [
        {
          file: "bad.jsonl",
          line: 1,
          fault: 'expected a task as JSON, found "nonsense\\n"'.replace("\\n", ""),
        },
      ],
    });
  });

  test("the largest message that SQS takes goes through", async () => {
    const envelope = JSON.stringify({ task: { task_id: "a", main_query: "" }, repeat: 0, run: "r" }).length;
    const room = 1_048_576 - envelope - ',"init_messages":[],"env_type":"","metadata":{}'.length;
    const largest = JSON.stringify({ task_id: "a", main_query: "x".repeat(room) });
    expect((await push([await file("large.jsonl", largest), "--run", "r"])).out).toContain("1 pushed");
    const larger = JSON.stringify({ task_id: "a", main_query: "x".repeat(room + 1) });
    expect((await push([await file("larger.jsonl", larger), "--run", "r"])).err).toContain("found 1048577");
  });
});

describe("what cannot be pushed", () => {
  test.each<[string, string[], string]>([
    ["no such file", ["nowhere.jsonl"], "nowhere.jsonl: expected a file of tasks, found no such file"],
    ["a folder", ["."], ".: expected a file of tasks, found a folder"],
    [
      "standard input twice",
      ["-", "-"],
      "expected - once, found it twice: standard input can be read only once",
    ],
    ["nothing", ["-"], "expected at least one task, found none"],
  ])("%s is said so", async (_, args, message) => {
    expect(await push(args)).toMatchObject({ code: 1, out: "", err: `sortie: ${message}\n` });
  });

  test.each<[string, string[], string]>([
    ["no file", [], "missing required argument 'file'"],
    ["a run with a slash", ["x", "--run", "a/b"], "Expected 1 to 128 letters, digits, or any of _ . : -"],
    ["no repeats", ["x", "--repeats", "0"], "Expected a whole number from 1 on."],
    ["an unknown format", ["x", "--format", "xml"], "Allowed choices are jsonl, json, csv, parquet."],
  ])("%s is a fault of the command line", async (_, args, message) => {
    const ran = await push(args);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(message);
  });

  test("a queue that is gone in the middle says how far it came", async () => {
    await using nobody = await serve((__, response) => sendText(response, 503, "down"));
    const environment = { ...deployed.environment, AWS_ENDPOINT_URL_SQS: nobody.url };
    const ran = await push([await file("one.jsonl", tasks("a")), "--run", "r"], { environment });
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(
      /^sortie: 0 rollouts of run r were pushed before this happened; pushing again is safe\nsortie: /,
    );
  });

  test("Ctrl-C ends it between two chunks, with exit code 130", async () => {
    const ran = await push([await file("one.jsonl", tasks("a")), "--run", "r"], {
      stop: AbortSignal.abort(),
    });
    expect(ran.code).toBe(130);
    expect(ran.out).toContain("0 pushed");
    expect(ran.err).toBe("sortie: stopped by Ctrl-C: run the same command again to go on\n");
    expect(await keys()).toEqual([]);
  });
});

test("a terminal sees a bar with rate and time left, nobody else does", async () => {
  const path = await file("bar.jsonl", tasks("a", "b"));
  const shown = await push([path, "--run", "r"], { terminal: true });
  expect(shown.progress).toMatch(/100% \| 2\/2 rollouts \| [\d.]+\/s \| 0 s left/);
  expect((await push([path, "--run", "r"])).progress).toBe("");
});

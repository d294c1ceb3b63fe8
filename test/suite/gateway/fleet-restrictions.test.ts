import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Clock, scope, settled, startProcess, type TestProcess, TestStore } from "./fleet-bed.ts";

async function pair() {
  const clock = new Clock();
  const store = new TestStore();
  const one = await startProcess("one", clock, store);
  const two = await startProcess("two", clock, store);
  return { clock, store, one, two };
}

/** The process hears BLOCK, as a connection of it would. */
function block({ restrictions, fleet, client }: TestProcess, key: string, seconds: number): void {
  restrictions.block(client(key), scope, seconds);
  fleet.block(client(key), scope, seconds);
}

function limit({ restrictions, fleet, client }: TestProcess, key: string, requests: number): void {
  restrictions.limit(client(key), scope, requests);
  fleet.limit(client(key), scope);
}

function clear({ restrictions, fleet, client }: TestProcess, key: string): void {
  restrictions.clear(client(key), scope);
  fleet.clear(client(key), scope);
}

/** Starts requests until one is not let through. */
function startAll({ restrictions, client }: TestProcess, key: string, most: number): number {
  for (let started = 0; started < most; started++) {
    if (restrictions.start(client(key), scope) !== "free") return started;
  }
  return most;
}

describe("BLOCK in a fleet", () => {
  test("holds in the other processes within a second [CG-ACT-6, CG-BLOCK-1]", async () => {
    const { clock, one, two } = await pair();
    const there = two.client("B");
    assert.equal(two.restrictions.judge(there, scope), "free");
    block(one, "B", 60);
    await clock.advance(999);
    assert.equal(two.restrictions.judge(there, scope), "blocked");
    assert.equal(two.restrictions.secondsBlocked(there, scope), 60);
    assert.equal(two.restrictions.judge(two.client("A"), scope), "free");
  });

  test("holds for a client whose first request comes elsewhere, before that is placed", async () => {
    const { clock, store, one, two } = await pair();
    block(one, "B", 60);
    await settled();
    // A process that began a moment ago, and one that has heard no news yet.
    const three = await startProcess("three", clock, store);
    await two.fleet.lookUp(two.client("B"), scope);
    for (const process of [two, three]) {
      assert.equal(process.restrictions.judge(process.client("B"), scope), "blocked");
    }
  });

  test("ends by its deadline in each of them [CG-ACT-2]", async () => {
    const { clock, one, two } = await pair();
    block(one, "B", 5);
    await clock.advance(4_900);
    assert.equal(two.restrictions.judge(two.client("B"), scope), "blocked");
    await clock.advance(100);
    for (const process of [one, two]) {
      assert.equal(process.restrictions.judge(process.client("B"), scope), "free");
    }
    assert.equal(two.fleet.view().records, 0);
  });

  test("is replaced by a later one, whoever heard that [CG-BLOCK-5, E09]", async () => {
    const { clock, one, two } = await pair();
    block(one, "B", 60);
    await clock.advance(500);
    block(two, "B", 5);
    await clock.advance(500);
    assert.equal(one.restrictions.secondsBlocked(one.client("B"), scope), 5);
    await clock.advance(4_500);
    assert.equal(one.restrictions.judge(one.client("B"), scope), "free");
  });

  test("is ended by a CLEAR that another process hears, at once [CG-CLEAR-1, E08]", async () => {
    const { clock, one, two } = await pair();
    block(one, "B", 60);
    await clock.advance(500);
    clear(two, "B");
    await clock.advance(500);
    for (const process of [one, two]) {
      assert.equal(process.restrictions.judge(process.client("B"), scope), "free");
    }
    assert.deepEqual(one.changed, ["B"]);
  });

  test("is ended by a CLEAR that overtakes the word of it", async () => {
    const { clock, one, two } = await pair();
    block(one, "B", 60);
    await clock.advance(1);
    clear(two, "B");
    await clock.advance(1_000);
    assert.equal(one.restrictions.judge(one.client("B"), scope), "free");
    assert.equal(two.restrictions.judge(two.client("B"), scope), "free");
  });

  test("of a client that only one process can know is told to nobody", async () => {
    const { clock, store, one } = await pair();
    const before = await store.text();
    block(one, "connection 7", 60);
    await clock.advance(1_000);
    assert.equal(one.restrictions.judge(one.client("connection 7"), scope), "blocked");
    assert.equal(await store.text(), before);
  });

  test("is in the store under a digest: who the client is cannot be read there [CG-PRIV-1]", async () => {
    const { clock, store, one } = await pair();
    block(one, "alice@example", 60);
    await clock.advance(300);
    const text = await store.text();
    assert.match(text, /gateway:restriction:[0-9a-f]{64}/);
    assert.doesNotMatch(text, /alice|api\.example/);
  });

  test("goes by deadlines of a clock that is a second off, by a second", async () => {
    const clock = new Clock();
    const store = new TestStore();
    const one = await startProcess("one", clock, store);
    const late = await startProcess("late", clock, store, -1_000);
    block(one, "B", 60);
    await clock.advance(500);
    assert.equal(late.restrictions.secondsBlocked(late.client("B"), scope), 61);
  });
});

describe("LIMIT in a fleet", () => {
  test("is a ceiling over the requests of all processes [CG-ACT-3, CG-LIMIT-1]", async () => {
    const { clock, one, two } = await pair();
    assert.equal(startAll(one, "B", 1), 1);
    limit(one, "B", 3);
    await clock.advance(500);
    let started = 1;
    for (let i = 0; i < 8; i++) {
      for (const process of [one, two]) started += startAll(process, "B", 10);
      assert.ok(started <= 3, `${started} requests in progress`);
      await clock.advance(250);
    }
    assert.equal(started, 3);
  });

  test("lets a request begin elsewhere once one ends here [CG-LIMIT-3]", async () => {
    const { clock, one, two } = await pair();
    startAll(one, "B", 2);
    limit(one, "B", 2);
    await clock.advance(1_000);
    assert.equal(two.restrictions.judge(two.client("B"), scope), "limited");
    two.restrictions.enqueue(two.client("B"), scope);
    one.restrictions.end(one.client("B"), scope);
    await clock.advance(1_000);
    assert.deepEqual(two.changed.slice(-1), ["B"]);
    assert.equal(two.restrictions.start(two.client("B"), scope, "queue"), "free");
    assert.equal(one.restrictions.judge(one.client("B"), scope), "limited");
  });

  test("lasts while any process has requests of the client, and not for long after", async () => {
    const { clock, one, two } = await pair();
    startAll(one, "B", 1);
    limit(one, "B", 1);
    await clock.advance(60_000);
    assert.equal(two.restrictions.judge(two.client("B"), scope), "limited");
    one.restrictions.end(one.client("B"), scope);
    await clock.advance(11_000);
    assert.equal(startAll(two, "B", 5), 5);
  });

  test("frees what a process held that died, and never twice", async () => {
    const { clock, store, one, two } = await pair();
    const three = await startProcess("three", clock, store);
    startAll(one, "B", 1);
    limit(one, "B", 1);
    await clock.advance(500);
    for (const { restrictions, client } of [two, three]) {
      assert.equal(restrictions.judge(client("B"), scope), "limited");
      restrictions.enqueue(client("B"), scope);
    }
    await clock.advance(500);
    await one.close();
    await clock.advance(8_000);
    const started = [two, three].filter(
      (process) => process.restrictions.start(process.client("B"), scope, "queue") === "free",
    );
    assert.equal(started.length, 1);
  });

  test("of many requests is shared out as well", async () => {
    const { clock, one, two } = await pair();
    startAll(one, "B", 1);
    limit(one, "B", 1_000);
    await clock.advance(500);
    for (const { restrictions, client } of [one, two]) {
      restrictions.judge(client("B"), scope);
      for (let i = 0; i < 700; i++) restrictions.enqueue(client("B"), scope);
    }
    await clock.advance(1_000);
    const started = [one, two].map(({ restrictions, client }) => {
      let count = 0;
      while (restrictions.queued(client("B"), scope) > 0) {
        if (restrictions.start(client("B"), scope, "queue") !== "free") break;
        count++;
      }
      return count;
    });
    const inAll = 1 + (started[0] as number) + (started[1] as number);
    // A slot is for 15 or 16 of them here, and is in one process as a whole.
    assert.ok(inAll <= 1_000 && inAll > 1_000 - 16, `${inAll} in progress`);
  });

  test("is ended by a CLEAR elsewhere [CG-CLEAR-1]", async () => {
    const { clock, one, two } = await pair();
    startAll(one, "B", 1);
    limit(one, "B", 1);
    await clock.advance(500);
    clear(two, "B");
    await clock.advance(500);
    assert.equal(startAll(one, "B", 5), 5);
    assert.equal(startAll(two, "B", 5), 5);
  });
});

describe("a fleet without its store", () => {
  test("goes by what each process hears and knows, and says so once", async () => {
    const { clock, store, one, two } = await pair();
    block(one, "B", 60);
    startAll(one, "C", 1);
    limit(one, "C", 1);
    await clock.advance(500);
    store.mode = "fails";
    await clock.advance(5_000);
    assert.deepEqual(two.states, ["connected", "lost"]);
    assert.equal(two.fleet.view().state, "lost");
    assert.equal(two.fleet.view().fault, "out of reach");
    // What was known stays.
    assert.equal(two.restrictions.judge(two.client("B"), scope), "blocked");
    // A LIMIT holds in each by itself.
    assert.equal(startAll(two, "C", 5), 1);
    block(two, "D", 60);
    assert.equal(two.restrictions.judge(two.client("D"), scope), "blocked");
    assert.equal(one.restrictions.judge(one.client("D"), scope), "free");
  });

  test("tells the others what they missed once it is back", async () => {
    const { clock, store, one, two } = await pair();
    block(one, "B", 600);
    await clock.advance(500);
    store.mode = "fails";
    block(two, "D", 600);
    clear(two, "B");
    await clock.advance(5_000);
    assert.equal(two.fleet.view().pending, 2);
    store.mode = "answers";
    await clock.advance(5_000);
    assert.deepEqual(one.states, ["connected", "lost", "connected"]);
    assert.equal(one.restrictions.judge(one.client("D"), scope), "blocked");
    assert.equal(one.restrictions.judge(one.client("B"), scope), "free");
    assert.equal(two.fleet.view().pending, 0);
  });

  test("fills a store again that has lost everything", async () => {
    const { clock, store, one } = await pair();
    block(one, "B", 600);
    await clock.advance(500);
    for (const key of await store.keys("gateway:")) await store.remove(key);
    await clock.advance(31_000);
    const three = await startProcess("three", clock, store);
    assert.equal(three.restrictions.judge(three.client("B"), scope), "blocked");
  });

  test("lets no request wait longer than the time for it", async () => {
    const { clock, store, two } = await pair();
    store.mode = "hangs";
    let done = false;
    void two.fleet.lookUp(two.client("B"), scope)?.then(() => {
      done = true;
    });
    await clock.advance(99);
    assert.equal(done, false);
    await clock.advance(1);
    assert.equal(done, true);
    await clock.advance(3_000);
    assert.equal(two.fleet.lookUp(two.client("C"), scope), undefined);
  });

  test("begins all the same", async () => {
    const clock = new Clock();
    const store = new TestStore();
    store.mode = "hangs";
    const one = await startProcess("one", clock, store);
    assert.equal(one.fleet.view().state, "lost");
    block(one, "B", 60);
    assert.equal(one.restrictions.judge(one.client("B"), scope), "blocked");
  });

  test("asks a healthy store twice for news in half a second, and no more", async () => {
    const { clock, store } = await pair();
    await clock.advance(1_000);
    const before = store.calls;
    await clock.advance(10_000);
    assert.ok(store.calls - before <= 2 * 41, `${store.calls - before} calls`);
  });
});

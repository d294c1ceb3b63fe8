import assert from "node:assert/strict";
import { describe, test } from "#test";
import { simulate } from "../../src/agent/simulate.ts";
import { toHex, utf8 } from "../../src/bytes.ts";
import { explainRoute } from "../../src/routing/mod.ts";
import { parseSnapshot, type Snapshot } from "../../src/snapshot/mod.ts";

type Weights = Readonly<Record<string, number>>;

function pool(weights: Weights, options: { health?: Weights; key_fields?: number } = {}): Snapshot {
  const { key_fields = 2 } = options;
  return parseSnapshot({
    version: 1,
    relays: Object.keys(weights).map((rid) => ({
      rid,
      uri: `https://${rid}.example/moq`,
      health: options.health?.[rid] === 0 ? "unhealthy" : "healthy",
    })),
    routes: [
      {
        prefix: ["example.com"],
        kind: "hashed",
        key_fields,
        rids: Object.entries(weights).map(([rid, weight]) => ({ rid, weight })),
      },
    ],
  });
}

const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes);

describe("simulation of a change", () => {
  test("a fourth relay of equal weight takes a quarter of the keys, from all others [LB-RESIZE-2]", async () => {
    const from = pool({ r1: 1, r2: 1, r3: 1 });
    const to = pool({ r1: 1, r2: 1, r3: 1, r4: 1 });
    const { moved, moves, keys, unplaced } = await simulate(from, to, { keys: 10_000 });
    assert.equal(keys, 10_000);
    assert.ok(moved >= 2350 && moved <= 2650, `${moved} of 10,000 moved`);
    assert.deepEqual(new Set(moves.map(({ to: target }) => text(target))), new Set(["r4"]));
    assert.deepEqual(moves.map(({ from: source }) => text(source)).sort(), ["r1", "r2", "r3"]);
    assert.deepEqual(unplaced, { before: 0, after: 0 });
  });

  test("a relay that goes gives away its own keys alone [LB-RESIZE-3]", async () => {
    const from = pool({ r1: 1, r2: 1, r3: 1, r4: 1 });
    const { relays, moved, moves } = await simulate(from, pool({ r1: 1, r2: 1, r3: 1 }), {
      keys: 4000,
    });
    const gone = relays.find(({ rid }) => text(rid) === "r4");
    assert.equal(gone?.after, 0);
    assert.equal(gone?.before, moved);
    assert.deepEqual(new Set(moves.map(({ from: source }) => text(source))), new Set(["r4"]));
  });

  test("a relay of weight w takes about w of W + w [LB-RESIZE-4]", async () => {
    const from = pool({ r1: 1, r2: 2, r3: 3 });
    const to = pool({ r1: 1, r2: 2, r3: 3, r4: 6 });
    const { moved, relays } = await simulate(from, to, { keys: 10_000 });
    assert.ok(moved >= 4800 && moved <= 5200, `${moved} of 10,000 moved`);
    assert.deepEqual(
      relays.map(({ expectedAfter }) => Math.round(expectedAfter)),
      [833, 1667, 2500, 5000],
    );
    for (const { after, expectedAfter } of relays) {
      assert.ok(Math.abs(after - expectedAfter) < 5 * Math.sqrt(expectedAfter));
    }
  });

  test("nothing moves where nothing changes", async () => {
    const { moved, moves } = await simulate(pool({ r1: 1, r2: 5 }), pool({ r1: 1, r2: 5 }), {
      keys: 500,
    });
    assert.deepEqual({ moved, moves }, { moved: 0, moves: [] });
  });

  test("every key goes where a load balancer places it [LB-HEALTH-11]", async () => {
    const from = pool({ r1: 1, r2: 4, r3: 2, r4: 0 });
    const to = pool({ r1: 1, r2: 3, r3: 2, r4: 2 }, { health: { r3: 0 } });
    const namespaces = Array.from({ length: 400 }, (_, i) => [
      utf8(i % 10 === 0 ? "elsewhere" : "example.com"),
      utf8(`m${i}`),
    ]);
    const expected = new Map<string, number>();
    for (const namespace of namespaces) {
      const [a, b] = [from, to].map((snapshot) => {
        const explained = explainRoute(snapshot, namespace);
        return explained.kind === "unrouted" ? undefined : text(explained.selected?.rid);
      });
      if (a !== b) expected.set(`${a}>${b}`, (expected.get(`${a}>${b}`) ?? 0) + 1);
    }
    const { moves, unplaced } = await simulate(from, to, { namespaces });
    const got = moves.map((move) => [`${text(move.from)}>${text(move.to)}`, move.keys] as const);
    assert.deepEqual(new Map(got), expected);
    assert.deepEqual(unplaced, { before: 40, after: 40 });
  });

  test("keys that share their hash key go together", async () => {
    const one = pool({ r1: 1, r2: 1, r3: 1 }, { key_fields: 1 });
    const { relays } = await simulate(one, one, { keys: 100 });
    assert.deepEqual(relays.map(({ after }) => after).sort(), [0, 0, 100]);
  });

  test("a route whose hash changes is placed anew on both sides [LB-HASHED-7]", async () => {
    const from = pool({ r1: 1, r2: 1 }, { key_fields: 1 });
    const to = pool({ r1: 1, r2: 1 }, { key_fields: 2 });
    const { relays, moved } = await simulate(from, to, { keys: 1000 });
    assert.deepEqual(relays.map(({ before }) => before).sort(), [0, 1000].sort());
    assert.ok(moved > 400 && moved < 600, `${moved} of 1,000 moved`);
  });

  test("an empty pool and a table without hashed routes have nothing to place", async () => {
    const empty = parseSnapshot({ version: 1, relays: [], routes: [] });
    assert.deepEqual(await simulate(empty, empty, { keys: 10 }), {
      keys: 0,
      relays: [],
      moved: 0,
      moves: [],
      unplaced: { before: 0, after: 0 },
    });
  });

  test("tells how far it is, ends where it is told to, and refuses no keys at all", async () => {
    const snapshot = pool({ r1: 1, r2: 1 });
    let clock = 0;
    const seen: number[] = [];
    await simulate(snapshot, snapshot, {
      keys: 1000,
      monotonic: () => {
        clock += 5;
        return clock;
      },
      onProgress: (done, total) => {
        assert.equal(total, 1000);
        seen.push(done);
      },
    });
    assert.ok(seen.length > 3);
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    assert.equal(seen.at(-1), 1000);

    const ending = new AbortController();
    const ended = simulate(snapshot, snapshot, {
      keys: 1_000_000,
      signal: ending.signal,
      onProgress: () => ending.abort(new Error("enough")),
    });
    await assert.rejects(ended, { message: "enough" });
    await assert.rejects(simulate(snapshot, snapshot, { keys: 0 }), RangeError);
  });

  test("relays of both snapshots are listed once, those that are gone last", async () => {
    const { relays } = await simulate(pool({ r1: 1, r2: 1 }), pool({ r3: 1, r2: 1 }), { keys: 10 });
    assert.deepEqual(
      relays.map(({ rid }) => toHex(rid)),
      ["7233", "7232", "7231"],
    );
  });
});

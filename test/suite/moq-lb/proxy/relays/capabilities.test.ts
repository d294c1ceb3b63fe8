import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  CapabilitiesError,
  type PoolCapabilities,
  poolCapabilities,
  type RelayLimits,
} from "../../../../../src/moq-lb/proxy/relays/capabilities.ts";
import type { RelayMismatch } from "../../../../../src/moq-lb/proxy/relays/relays.ts";
import type { SetupOption } from "../../../../../src/moqt/mod.ts";
import { noCommonProtocol } from "../../../../../src/quic/errors.ts";
import { parseSnapshot, type Snapshot } from "../../../../../src/snapshot/mod.ts";
import { activate, hashed, now, pinned } from "../../../routing/fixtures.ts";
import { assertFails, opened, pool, RelayBed, ridOf, uriOf } from "./support.ts";

/** Relays r1, r2 and r3 with these attributes, all named by a hashed route. */
function snapshot(moqt: Record<string, unknown>, routes = [hashed(["live"])]): Snapshot {
  const relays = ["r1", "r2", "r3"].map((rid) => ({
    rid,
    uri: uriOf(rid),
    health: "healthy",
    ...(rid in moqt && { attributes: { moqt: moqt[rid] } }),
  }));
  return parseSnapshot({ version: 1, relays, routes });
}

function learned(limits: Record<string, [updates: bigint, ranges: bigint]>) {
  return new Map<string, RelayLimits>(
    Object.entries(limits).map(([name, [maxRequestUpdates, maxFilterRanges]]) => [
      ridOf(name),
      { maxRequestUpdates, maxFilterRanges },
    ]),
  );
}

function assertRefused(of: Snapshot, code: string): CapabilitiesError {
  let refusal: PoolCapabilities | unknown;
  try {
    refusal = poolCapabilities(of);
  } catch (error) {
    refusal = error;
  }
  assert.ok(refusal instanceof CapabilitiesError);
  assert.equal(refusal.code, code);
  return refusal;
}

describe("what a balancer promises for its pool", () => {
  test("are the drafts that every relay speaks, newest first [LB-PSETUP-2] [PX-08] [LB-S56]", () => {
    const some = snapshot({ r1: { drafts: [20] }, r2: { drafts: [18, 20] } });
    assert.deepEqual(poolCapabilities(some).drafts, [20]);
    const more = snapshot({ r1: { drafts: [18, 20, 22] }, r2: { drafts: [22, 18, 99] } });
    assert.deepEqual(poolCapabilities(more).drafts, [22, 18]);
    assert.deepEqual(poolCapabilities(snapshot({})).drafts, [22, 21, 20, 19, 18]);
  });

  test("counts only relays that requests can be placed on, whatever their health [LB-PSETUP-2]", () => {
    const moqt = { r1: { drafts: [22] }, r2: { drafts: [18] }, r3: { drafts: [22, 20] } };
    const routes = [pinned("r1", "ops"), hashed(["live"], { rids: [{ rid: "r3", weight: 1 }] })];
    assert.deepEqual(poolCapabilities(snapshot(moqt, routes)).drafts, [22]);
    const zero = hashed(["live"], {
      rids: [
        { rid: "r2", weight: 0 },
        { rid: "r3", weight: 1 },
      ],
    });
    assert.deepEqual(poolCapabilities(snapshot(moqt, [zero])).drafts, [22, 20]);
  });

  test("nothing, where no draft is common: the refusal names relays and drafts [LB-PSETUP-3]", () => {
    const apart = snapshot({ r1: { drafts: [20, 22] }, r2: { drafts: [18] } });
    const { message } = assertRefused(apart, "NO_COMMON_DRAFT");
    assert.match(message, /20, 22 by relays\[0\] \("r1"\); 18 by relays\[1\] \("r2"\)/);
    assertRefused(snapshot({ r1: { drafts: [99] } }), "NO_COMMON_DRAFT");
  });

  test("the fewest updates of any relay, where 0 is no limit, and one of a relay that nothing is known of [LB-PSETUP-4] [LB-S55] [LB-S56]", () => {
    const of = (...limits: (number | undefined)[]) =>
      poolCapabilities(
        snapshot(
          Object.fromEntries(
            limits.map((limit, i) => [
              `r${i + 1}`,
              limit === undefined ? {} : { max_request_updates: limit },
            ]),
          ),
        ),
      ).maxRequestUpdates;
    assert.equal(of(4, 8, 9), 4n);
    assert.equal(of(8, 0, 4), 4n);
    assert.equal(of(0, 0, 0), 0n);
    assert.equal(of(undefined, 7, 7), 1n);
    assert.equal(of(7, 0, 0), 7n);
    assert.equal(of(), 1n);
  });

  test("the fewest filter ranges of any relay, where 0 and silence are none [LB-PSETUP-4] [LB-S55]", () => {
    const of = (...limits: number[]) =>
      poolCapabilities(
        snapshot(
          Object.fromEntries(limits.map((limit, i) => [`r${i + 1}`, { max_filter_ranges: limit }])),
        ),
      ).maxFilterRanges;
    assert.equal(of(4, 8, 16), 4n);
    assert.equal(of(4, 0, 16), 0n);
    assert.equal(of(4, 8), 0n);
  });

  test("what relays have set in earlier sessions counts, the tighter limit where both are known [LB-PSETUP-4] [LB-S56]", () => {
    const plain = snapshot({});
    const all = learned({ r1: [4n, 8n], r2: [0n, 6n], r3: [9n, 7n] });
    assert.deepEqual(poolCapabilities(plain, all), {
      drafts: [22, 21, 20, 19, 18],
      maxRequestUpdates: 4n,
      maxFilterRanges: 6n,
    });
    const configured = snapshot({ r1: { max_request_updates: 6, max_filter_ranges: 2 } });
    const { maxRequestUpdates, maxFilterRanges } = poolCapabilities(configured, all);
    assert.equal(maxRequestUpdates, 4n);
    assert.equal(maxFilterRanges, 2n);
  });

  test("no promise is made from attributes that cannot be understood", () => {
    const cases: readonly [unknown, string][] = [
      [[], "relays[1].attributes.moqt"],
      [{ drafts: [] }, "relays[1].attributes.moqt.drafts"],
      [{ drafts: ["22"] }, "relays[1].attributes.moqt.drafts"],
      [{ drafts: 22 }, "relays[1].attributes.moqt.drafts"],
      [{ max_request_updates: -1 }, "relays[1].attributes.moqt.max_request_updates"],
      [{ max_filter_ranges: 1.5 }, "relays[1].attributes.moqt.max_filter_ranges"],
    ];
    for (const [moqt, path] of cases) {
      const { message } = assertRefused(snapshot({ r2: moqt }), "INVALID_CAPABILITIES");
      assert.equal(message.slice(0, message.indexOf(":")), path);
    }
  });
});

describe("what relays are found to speak", () => {
  const limits = (updates: bigint, ranges: bigint): SetupOption[] => [
    { type: "MAX_REQUEST_UPDATES", value: updates },
    { type: "MAX_FILTER_RANGES", value: ranges },
  ];

  test("the limits of a relay's SETUP are remembered for later clients [LB-PSETUP-4] [LB-S56]", async () => {
    const bed = new RelayBed();
    bed.answer = { setupOptions: limits(4n, 8n) };
    const relays = ["r1", "r2", "r3"];
    for (const relay of relays) await opened(bed.client().open(relay));
    assert.deepEqual(
      [...bed.relays.learned],
      relays.map((relay) => [ridOf(relay), { maxRequestUpdates: 4n, maxFilterRanges: 8n }]),
    );
    const { maxRequestUpdates } = poolCapabilities(bed.holder.active.snapshot, bed.relays.learned);
    assert.equal(maxRequestUpdates, 4n);
    assert.deepEqual(bed.relays.mismatches, []);
  });

  test("draft 18, which has no such limits, teaches nothing", async () => {
    const bed = new RelayBed();
    await opened(bed.client({ draft: 18 }).open("r1"));
    assert.equal(bed.relays.learned.size, 0);
  });

  test("relays that the pool has no more are forgotten", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    for (const gone of ["g1", "g2", "g3"]) await opened(client.open(gone));
    await opened(client.open("r1"));
    assert.deepEqual([...bed.relays.learned.keys()], [ridOf("r1")]);
  });

  test("a refused version is told once, and listed until the relay speaks it [LB-PSETUP-12]", async () => {
    const told: RelayMismatch[] = [];
    const bed = new RelayBed({ onMismatch: (mismatch) => told.push(mismatch) });
    bed.answer = { error: noCommonProtocol() };
    const client = bed.client();
    await assertFails(client.open("r1"), "BACKEND_MISMATCH");
    await assertFails(client.open("r1"), "BACKEND_MISMATCH");
    assert.deepEqual(told, [{ rid: ridOf("r1"), at: now }]);
    assert.deepEqual(bed.relays.mismatches, [{ rid: ridOf("r1"), at: now }]);
    bed.answer = {};
    await opened(bed.client({ draft: 20 }).open("r1"));
    assert.equal(bed.relays.mismatches.length, 1);
    await opened(client.open("r1"));
    assert.deepEqual(bed.relays.mismatches, []);
  });

  test("a newer version of the configuration starts anew [LB-PSETUP-12]", async () => {
    const told: RelayMismatch[] = [];
    const bed = new RelayBed({ onMismatch: (mismatch) => told.push(mismatch) });
    bed.answer = { error: noCommonProtocol() };
    await assertFails(bed.client().open("r1"), "BACKEND_MISMATCH");
    bed.holder.active = pool(2);
    assert.deepEqual(bed.relays.mismatches, []);
    await assertFails(bed.client().open("r1"), "BACKEND_MISMATCH");
    assert.equal(told.length, 2);
  });

  test("a relay that keeps less than its attributes say is a mismatch, and serves all the same [LB-PSETUP-4] [LB-PSETUP-12]", async () => {
    const cases: readonly [moqt: object, bigint, bigint, isMismatch: boolean][] = [
      [{ max_request_updates: 8 }, 4n, 0n, true],
      [{ max_request_updates: 0 }, 4n, 0n, true],
      [{ max_request_updates: 4 }, 0n, 0n, false],
      [{ max_request_updates: 4 }, 4n, 0n, false],
      [{ max_filter_ranges: 8 }, 0n, 4n, true],
      [{ max_filter_ranges: 8 }, 0n, 8n, false],
      [{ max_filter_ranges: 0 }, 0n, 8n, false],
    ];
    for (const [moqt, updates, ranges, isMismatch] of cases) {
      const bed = new RelayBed();
      bed.holder.active = activate(snapshot({ r1: moqt }));
      bed.answer = { setupOptions: limits(updates, ranges) };
      await opened(bed.client().open("r1"));
      assert.equal(bed.relays.mismatches.length, isMismatch ? 1 : 0);
    }
  });
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { isUnprocessed, OriginGroups, OriginSettings } from "../../../src/client-group/mod.ts";

function sharing(version: "h2" | "h3") {
  const settings = new OriginSettings(version, { policy: 0n });
  settings.receive([[0xf0c1, 1]]);
  settings.settingsToSend();
  return settings;
}

function origin(version: "h2" | "h3" = "h2", maximum?: number) {
  return new OriginGroups({ settings: sharing(version), ...(maximum && { maximum }) });
}

const goaway = (boundary: bigint, value = 0) => ({ group: 907, value, action: 0, boundary });

describe("groups at the origin", () => {
  test("are blocked, limited and cleared by frames with Boundary 0 [CG-EX-2, CG-BOUND-7, CG-ACT-2, CG-ACT-3, CG-CLEAR-2]", () => {
    const groups = origin();
    assert.deepEqual(groups.block(907, 60), { group: 907, value: 60, action: 1, boundary: 0n });
    assert.deepEqual(groups.limit(907, 3), { group: 907, value: 3, action: 2, boundary: 0n });
    assert.deepEqual(groups.clear(0), { group: 0, value: 0, action: 3, boundary: 0n });
    assert.throws(() => groups.block(907, 86_401), { code: "INVALID_FRAME" });
    assert.throws(() => groups.clear(-1), { code: "INVALID_IDENTIFIER" });
  });

  test("h2: leave with the boundary of what was delivered of them [CG-EX-7, CG-BOUND-2, A11]", () => {
    const groups = origin();
    for (const stream of [39n, 43n]) assert.equal(groups.deliver(907, stream), true);
    for (const stream of [37n, 41n, 47n]) assert.equal(groups.deliver(48_213, stream), true);
    assert.deepEqual(groups.goaway(907, { alone: true }), goaway(43n, 1));
    assert.equal(groups.deliver(907, 45n), false);
    assert.equal(groups.deliver(48_213, 49n), true);
  });

  test("h3: leave with the stream after what was delivered of them [CG-BOUND-4, CG-BOUND-5, A11]", () => {
    const groups = origin("h3");
    for (const stream of [40n, 36n]) assert.equal(groups.deliver(907, stream), true);
    assert.deepEqual(groups.goaway(907), goaway(44n));
    assert.equal(groups.deliver(907, 44n), false);
    const fresh = origin("h3");
    fresh.deliver(907, 0n);
    assert.deepEqual(fresh.goaway(907), goaway(4n));
  });

  test("that nothing was delivered of leave with Boundary 0 [CG-S50]", () => {
    assert.deepEqual(origin().goaway(907), goaway(0n));
  });

  test("never get a boundary raised, and may hear it again or lower [CG-GOAWAY-8, CG-GOAWAY-9]", () => {
    const groups = origin();
    groups.deliver(907, 41n);
    assert.deepEqual(groups.goaway(907, { boundary: 43n }), goaway(43n));
    assert.throws(() => groups.goaway(907, { boundary: 45n }), { code: "OUT_OF_ORDER" });
    assert.deepEqual(groups.goaway(907, { boundary: 43n }), goaway(43n));
    assert.deepEqual(groups.goaway(907), goaway(41n));
    assert.throws(() => groups.goaway(907, { boundary: 43n }), { code: "OUT_OF_ORDER" });
    assert.equal(groups.deliver(907, 43n), false);
  });

  test("get no boundary below a stream that was delivered [CG-GOAWAY-9, A11]", () => {
    const groups = origin();
    groups.deliver(907, 43n);
    assert.throws(() => groups.goaway(907, { boundary: 41n }), { code: "OUT_OF_ORDER" });
    assert.deepEqual(groups.goaway(907, { boundary: 43n }), goaway(43n));
    const http3 = origin("h3");
    http3.deliver(907, 44n);
    assert.throws(() => http3.goaway(907, { boundary: 44n }), { code: "OUT_OF_ORDER" });
  });

  test("get no frame where the settings do not allow it, and nothing has happened [CG-FRAME2-2, CG-FRAME2-3]", () => {
    const withoutPolicy = new OriginSettings("h2");
    withoutPolicy.receive([[0xf0c1, 1]]);
    withoutPolicy.settingsToSend();
    const plainClient = new OriginSettings("h2", { policy: 0n });
    plainClient.settingsToSend();
    plainClient.receive([]);
    for (const settings of [withoutPolicy, plainClient]) {
      const groups = new OriginGroups({ settings });
      for (const send of [
        () => groups.block(907, 60),
        () => groups.limit(907, 1),
        () => groups.clear(907),
        () => groups.goaway(907),
      ]) {
        assert.throws(send, { code: "NOT_NEGOTIATED" });
      }
      assert.equal(groups.deliver(907, 45n), true);
    }
  });

  test("are not noted as gone by a frame that could not be sent [CG-FRAME2-5]", () => {
    const groups = origin();
    assert.throws(() => groups.goaway(907, { boundary: 2n ** 31n }), { code: "INVALID_FRAME" });
    assert.deepEqual(groups.goaway(907, { boundary: 43n }), goaway(43n));
  });

  test("let requests without a group pass [CG-A6]", () => {
    const groups = origin();
    groups.goaway(0);
    assert.equal(groups.deliver(undefined, 1n), true);
    assert.equal(groups.deliver(0, 3n), false);
  });

  test("beyond the maximum are remembered together, to the safe side [CG-GOAWAY-9]", () => {
    const groups = origin("h2", 2);
    groups.deliver(1, 11n);
    groups.deliver(2, 13n);
    groups.deliver(1, 15n);
    groups.deliver(3, 17n);
    assert.equal(groups.goaway(2).boundary, 13n);
    assert.equal(groups.goaway(1).boundary, 15n);
    assert.equal(groups.goaway(99).boundary, 13n);
    assert.throws(() => origin("h2", -1), { code: "INVALID_CONFIGURATION" });
  });

  test("never have a delivered stream beyond a boundary, nor a boundary raised [CG-GOAWAY-9, CG-BOUND-3, CG-BOUND-5, A11]", () => {
    const step = fc.record({
      group: fc.integer({ min: 0, max: 3 }),
      kind: fc.constantFrom("deliver", "deliver", "goaway", "explicit"),
      stream: fc.integer({ min: 0, max: 30 }),
    });
    for (const version of ["h2", "h3"] as const) {
      fc.assert(
        fc.property(
          fc.array(step, { maxLength: 40 }),
          fc.integer({ min: 1, max: 4 }),
          (steps, maximum) => {
            const groups = origin(version, maximum);
            const delivered = new Map<number, bigint[]>();
            const boundaries = new Map<number, bigint>();
            for (const { group, kind, stream } of steps) {
              const id = BigInt(version === "h2" ? 2 * stream + 1 : 4 * stream);
              if (kind === "deliver") {
                if (!groups.deliver(group, id)) continue;
                delivered.set(group, [...(delivered.get(group) ?? []), id]);
              } else {
                let boundary: bigint;
                try {
                  const options = kind === "explicit" ? { boundary: id } : {};
                  ({ boundary } = groups.goaway(group, options));
                } catch (error) {
                  assert.equal((error as { code: string }).code, "OUT_OF_ORDER");
                  assert.equal(kind, "explicit");
                  continue;
                }
                assert.ok(boundary <= (boundaries.get(group) ?? boundary));
                boundaries.set(group, boundary);
              }
              for (const [gone, boundary] of boundaries) {
                for (const each of delivered.get(gone) ?? []) {
                  assert.equal(isUnprocessed(version, each, boundary), false);
                }
              }
            }
          },
        ),
        { numRuns: 500 },
      );
    }
  });
});

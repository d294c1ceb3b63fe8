import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  type Candidate,
  candidateHash,
  type HashProfileName,
  HrwError,
  rankRelays,
  selectRelay,
} from "../../../src/hrw/mod.ts";
import { fields, profileNames, relays, ridText, utf8 } from "./names.ts";
import { referenceRanking } from "./reference.ts";

type Weighted = Required<Candidate>;

/** Candidates r1, r2, … with these weights. */
function weighted(...weights: number[]): Weighted[] {
  return weights.map((weight, i) => ({ rid: utf8(`r${i + 1}`), weight }));
}

/** The relay of each of the keys (k0), (k1), … */
function placements(keys: number, candidates: Weighted[]): string[] {
  return Array.from({ length: keys }, (_, i) =>
    String(ridText(selectRelay("HRW-SHA256", fields(`k${i}`), candidates))),
  );
}

function count(placed: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const rid of placed) counts[rid] = (counts[rid] ?? 0) + 1;
  return counts;
}

/** Indices at which two maps of the same keys differ. */
function moved(before: readonly string[], after: readonly string[]): number[] {
  return [...before.keys()].filter((i) => before[i] !== after[i]);
}

const anyTable = fc.record({
  hashKey: fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 4 }),
  candidates: fc.uniqueArray(
    fc.record({
      rid: fc.uint8Array({ maxLength: 6 }),
      weight: fc.integer({ min: 0, max: 16 }),
    }),
    { maxLength: 10, selector: ({ rid }) => toHex(rid) },
  ),
});

describe("selectRelay and rankRelays", () => {
  test("agree with comparing every pair in full [LB-HASHED-1] [LB-HASH-8] [LB-HASH-15]", () => {
    for (const profile of profileNames) {
      fc.assert(
        fc.property(anyTable, ({ hashKey, candidates }) => {
          const expected = referenceRanking(profile, hashKey, candidates);
          assert.deepEqual(rankRelays(profile, hashKey, candidates), expected);
          assert.deepEqual(selectRelay(profile, hashKey, candidates), expected[0]);
        }),
        { numRuns: 150 },
      );
    }
  });

  test("agree over one candidate of each weight [LB-HASH-15]", () => {
    const candidates = weighted(...Array.from({ length: 17 }, (_, weight) => weight));
    for (const profile of profileNames) {
      for (let i = 0; i < 10; i++) {
        const expected = referenceRanking(profile, fields(`k${i}`), candidates);
        assert.equal(expected.length, 16);
        assert.deepEqual(rankRelays(profile, fields(`k${i}`), candidates), expected);
        assert.deepEqual(selectRelay(profile, fields(`k${i}`), candidates), expected[0]);
      }
    }
  });

  test("do not depend on the order of the candidates [LB-HASH-16]", () => {
    fc.assert(
      fc.property(anyTable, fc.nat(), ({ hashKey, candidates }, cut) => {
        const turn = candidates.length === 0 ? 0 : cut % candidates.length;
        const turned = [...candidates.slice(turn), ...candidates.slice(0, turn)].reverse();
        assert.deepEqual(
          selectRelay("HRW-SHA256", hashKey, turned),
          selectRelay("HRW-SHA256", hashKey, candidates),
        );
        assert.deepEqual(
          rankRelays("HRW-SHA256", hashKey, turned),
          rankRelays("HRW-SHA256", hashKey, candidates),
        );
      }),
      { numRuns: 100 },
    );
  });

  test("answer the candidate's own RID object, its weight and its hash", () => {
    const candidates = weighted(1, 4, 2);
    const selected = selectRelay("HRW-SHA256", fields("a", "b"), candidates);
    assert.ok(selected);
    const own = candidates.find(({ rid }) => rid === selected.rid);
    assert.equal(selected.weight, own?.weight);
    assert.equal(selected.hash, candidateHash("HRW-SHA256", fields("a", "b"), selected.rid));
  });

  test("results can be ranked and selected from again", () => {
    const ranking = rankRelays("HRW-SHA256", fields("a"), weighted(3, 1, 2, 16));
    assert.deepEqual(rankRelays("HRW-SHA256", fields("a"), ranking), ranking);
    assert.deepEqual(selectRelay("HRW-SHA256", fields("a"), ranking.slice(1)), ranking[1]);
  });

  test("a weight left out is 1 [LB-HASHED-2]", () => {
    const plain = ["r1", "r2", "r3"].map((rid) => ({ rid: utf8(rid) }));
    for (let i = 0; i < 2000; i++) {
      const key = fields(`k${i}`);
      assert.deepEqual(
        selectRelay("HRW-SHA256", key, plain),
        selectRelay("HRW-SHA256", key, relays("r1", "r2", "r3")),
      );
    }
  });

  test("weight 0 is never selected and never ranked [LB-HASHED-14] [RT-09]", () => {
    const candidates = weighted(1, 0, 16);
    for (let i = 0; i < 2000; i++) {
      const selected = selectRelay("HRW-SHA256", fields(`k${i}`), candidates);
      assert.notEqual(ridText(selected), "r2");
    }
    const ranked = rankRelays("HRW-SHA256", fields("k"), candidates);
    assert.deepEqual(ranked.map(ridText).sort(), ["r1", "r3"]);
  });

  test("no candidate of positive weight: none is selected [LB-HASHED-14]", () => {
    for (const profile of profileNames) {
      assert.equal(selectRelay(profile, fields("k"), []), undefined);
      assert.equal(selectRelay(profile, fields("k"), weighted(0, 0)), undefined);
      assert.deepEqual(rankRelays(profile, fields("k"), weighted(0)), []);
    }
  });

  test("only hash key and RID enter the hash [LB-HASH-7]", () => {
    const decorated = [
      { rid: utf8("r1"), weight: 1, uri: "https://r1.example/moq" },
      { rid: utf8("r2"), weight: 16, uri: "https://r2.example/moq" },
    ];
    const hashes = rankRelays("HRW-SHA256", fields("live"), decorated).map(({ hash }) => hash);
    const plain = rankRelays("HRW-SHA256", fields("live"), relays("r1", "r2"));
    assert.deepEqual(new Set(hashes), new Set(plain.map(({ hash }) => hash)));
  });

  test("a call does not disturb the result of an earlier one", () => {
    const first = selectRelay("HRW-SHA256", fields("k0"), weighted(1, 1));
    const copy = { ...first };
    selectRelay("HRW-SHA256", fields("k1"), weighted(1, 1));
    assert.deepEqual({ ...first }, copy);
  });

  function assertRefused(given: unknown, code: HrwError["code"], message: RegExp): void {
    const candidates = given as readonly Candidate[];
    const refused = (error: unknown) =>
      error instanceof HrwError && error.code === code && message.test(error.message);
    assert.throws(() => selectRelay("HRW-SHA256", fields("k"), candidates), refused);
    assert.throws(() => rankRelays("HRW-SHA256", fields("k"), candidates), refused);
  }

  const bad: [string, unknown, HrwError["code"], RegExp][] = [
    ["weight 17", { rid: utf8("r"), weight: 17 }, "INVALID_WEIGHT", /candidates\[1\]\.weight/],
    ["weight -1", { rid: utf8("r"), weight: -1 }, "INVALID_WEIGHT", /0\.\.16/],
    ["weight 1.5", { rid: utf8("r"), weight: 1.5 }, "INVALID_WEIGHT", /integer/],
    ["weight NaN", { rid: utf8("r"), weight: Number.NaN }, "INVALID_WEIGHT", /integer/],
    ["a weight in text", { rid: utf8("r"), weight: "1" }, "INVALID_WEIGHT", /integer/],
  ];
  for (const [what, candidate, code, message] of bad) {
    test(`${what} is refused [LB-HASHED-12]`, () => {
      assertRefused([...relays("r1"), candidate], code, message);
    });
  }

  test("what is no candidate, and what is no list of them, is refused", () => {
    assertRefused([{ rid: "r1" }], "INVALID_RID", /^candidates\[0\]\.rid/);
    assertRefused([{ weight: 1 }], "INVALID_RID", /^candidates\[0\]\.rid/);
    for (const candidate of [null, undefined, "r1", 1]) {
      assertRefused([...relays("r1"), candidate], "INVALID_CANDIDATE", /^candidates\[1\] /);
    }
    for (const candidates of [undefined, null, "r1", 1, {}, new Set(relays("r1"))]) {
      assertRefused(candidates, "INVALID_CANDIDATE", /^candidates has to be an array/);
    }
  });

  test("weights 0 and 16 are accepted [LB-HASHED-12]", () => {
    assert.equal(ridText(selectRelay("HRW-SHA256", fields("k"), weighted(0, 16))), "r2");
  });

  test("an unknown profile is refused", () => {
    assert.throws(
      () => selectRelay("HRW-BLAKE3" as HashProfileName, fields("k"), relays("r1")),
      (error) => error instanceof HrwError && error.code === "UNKNOWN_PROFILE",
    );
  });
});

describe("shares and moves", () => {
  test("20,000 keys spread 25.1, 50.6 and 24.4 % over weights 1, 2, 1 [LB-HASHED-10]", () => {
    const counts = count(placements(20_000, weighted(1, 2, 1)));
    const tenths = (rid: string) => Math.round((counts[rid] ?? 0) / 20);
    assert.deepEqual([tenths("r1"), tenths("r2"), tenths("r3")], [251, 506, 244]);
  });

  test("100,000 keys follow weights 1, 3, 5, 7 [LB-HASH-19]", () => {
    const keys = 100_000;
    const weights = [1, 3, 5, 7];
    const counts = count(placements(keys, weighted(...weights)));
    let chiSquare = 0;
    for (const [i, weight] of weights.entries()) {
      const expected = (keys * weight) / 16;
      chiSquare += ((counts[`r${i + 1}`] ?? 0) - expected) ** 2 / expected;
    }
    // The 99.9 % quantile for three degrees of freedom.
    assert.ok(chiSquare < 16.27);
  });

  test("a fourth equal relay takes 24.5 % of 10,000 keys and moves no other [LB-RESIZE-2]", () => {
    const before = placements(10_000, weighted(1, 1, 1));
    const after = placements(10_000, weighted(1, 1, 1, 1));
    const changed = moved(before, after);
    assert.equal(Math.round(changed.length / 10), 245);
    assert.ok(changed.every((i) => after[i] === "r4"));
  });

  test("a new relay of weight 3 beside a total of 4 takes about 3/7 [LB-RESIZE-4]", () => {
    const before = placements(10_000, weighted(1, 2, 1));
    const after = placements(10_000, weighted(1, 2, 1, 3));
    const changed = moved(before, after);
    assert.ok(Math.abs(changed.length / 10_000 - 3 / 7) < 0.02);
    assert.ok(changed.every((i) => after[i] === "r4"));
  });

  test("removing one of three relays moves its keys alone [LB-RESIZE-3] [RT-08]", () => {
    const before = placements(2000, weighted(1, 1, 1));
    const after = placements(2000, weighted(1, 0, 1));
    const gone = placements(
      2000,
      weighted(1, 1, 1).filter(({ rid }) => ridText({ rid }) !== "r2"),
    );
    assert.deepEqual(after, gone);
    assert.ok(moved(before, after).every((i) => before[i] === "r2"));
    assert.ok(before.every((rid, i) => rid !== "r2" || after[i] !== "r2"));
  });

  test("the runner-up is who is selected without the winner [LB-S30]", () => {
    for (let i = 0; i < 200; i++) {
      const candidates = weighted(1, 2, 3, 4);
      const ranking = rankRelays("HRW-SHA256", fields(`k${i}`), candidates);
      const rest = candidates.filter(({ rid }) => rid !== ranking[0]?.rid);
      assert.deepEqual(selectRelay("HRW-SHA256", fields(`k${i}`), rest), ranking[1]);
    }
  });
});

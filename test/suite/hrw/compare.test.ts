import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { Contender, powers } from "../../../src/hrw/compare.ts";
import { digestOfHash } from "../../../src/hrw/hash.ts";
import {
  type HashedCandidate,
  type HashProfileName,
  HrwError,
  hashProfiles,
  wins,
} from "../../../src/hrw/mod.ts";
import { profileNames, utf8 } from "./names.ts";
import { referenceWins } from "./reference.ts";

function stub(hash: bigint, weight = 1, rid = "r"): HashedCandidate {
  return { rid: utf8(rid), weight, hash };
}

function largestHash(profile: HashProfileName): bigint {
  return hashProfiles[profile].modulus - 2n;
}

/** The smallest hash with which a candidate of `weight` beats `b`, by bisection over the formula. */
function threshold(profile: HashProfileName, weight: number, b: HashedCandidate): bigint {
  let [losing, winning] = [-1n, largestHash(profile)];
  while (winning - losing > 1n) {
    const middle = (losing + winning) / 2n;
    if (referenceWins(profile, stub(middle, weight, "z"), b)) winning = middle;
    else losing = middle;
  }
  return winning;
}

/** Hashes everywhere in the range, its ends and the seams between powers of two included. */
function anyHash(profile: HashProfileName): fc.Arbitrary<bigint> {
  const max = largestHash(profile);
  const bits = hashProfiles[profile].bits;
  return fc.oneof(
    fc.bigInt({ min: 0n, max }),
    fc.bigInt({ min: 0n, max: 40n }),
    fc.bigInt({ min: max - 40n, max }),
    fc
      .tuple(fc.integer({ min: 1, max: bits - 1 }), fc.bigInt({ min: -2n, max: 2n }))
      .map(([power, offset]) => (1n << BigInt(power)) + offset - (power === 1 ? offset : 0n)),
  );
}

const anyWeight = fc.integer({ min: 1, max: 16 });

describe("wins", () => {
  test("the larger hash wins at equal weights [LB-HASH-18] [LB-S28]", () => {
    for (const profile of profileNames) {
      assert.equal(wins(profile, stub(9n), stub(8n)), true);
      assert.equal(wins(profile, stub(8n), stub(9n)), false);
    }
  });

  test("hashes one apart near 2^255 are told apart at weight 16 [LB-HASH-10] [LB-HASH-11]", () => {
    const hash = 2n ** 255n;
    const [a, b] = [stub(hash + 1n, 16), stub(hash, 16)];
    assert.equal(wins("HRW-SHA256", a, b), true);
    assert.equal(wins("HRW-SHA256", b, a), false);
    assert.equal(Number(a.hash), Number(b.hash));
  });

  const unequal: [number, number][] = [
    [16, 15],
    [15, 16],
    [2, 1],
    [1, 2],
    [16, 1],
    [1, 16],
    [7, 5],
  ];
  for (const [weightA, weightB] of unequal) {
    test(`one unit decides at weights ${weightA} and ${weightB} [LB-HASH-10] [LB-HASH-11]`, () => {
      for (const profile of profileNames) {
        const top = largestHash(profile);
        for (const hash of [top - 12_345n, top - top / 3n, top / 2n]) {
          const b = stub(hash, weightB, "b");
          const enough = threshold(profile, weightA, b);
          assert.equal(wins(profile, stub(enough, weightA, "z"), b), true);
          assert.equal(wins(profile, b, stub(enough, weightA, "z")), false);
          if (enough === 0n) continue;
          assert.equal(wins(profile, stub(enough - 1n, weightA, "z"), b), false);
          assert.equal(wins(profile, b, stub(enough - 1n, weightA, "z")), true);
        }
      }
    });
  }

  test("a pair that double precision takes for a tie is split [LB-HASH-11] [LB-HASH-12]", () => {
    const b = stub(2n ** 255n, 15, "b");
    const enough = threshold("HRW-SHA256", 16, b);
    const score = (hash: bigint, weight: number) =>
      -Math.log((Number(hash) + 1) / 2 ** 256) / weight;
    assert.equal(score(enough, 16), score(enough - 1n, 16));
    assert.equal(wins("HRW-SHA256", stub(enough, 16), b), true);
    assert.equal(wins("HRW-SHA256", stub(enough - 1n, 16), b), false);
  });

  test("each profile compares with its own modulus [LB-HASH-9]", () => {
    // With 2^256 + 1 instead of 2^64 + 1 the heavier one would win whatever the hashes are.
    assert.equal(wins("HRW-SHA256-64", stub(2n ** 64n - 1n, 1), stub(2n ** 62n, 2)), true);
    // With 2^64 + 1 instead of 2^256 + 1 the lighter one would win.
    assert.equal(wins("HRW-SHA256", stub(2n ** 255n, 2), stub(2n ** 250n, 1)), true);
  });

  test("hash plus one and the modulus may outgrow the width [LB-S27] [LB-HASH-17]", () => {
    for (const profile of profileNames) {
      const top = largestHash(profile);
      assert.equal(wins(profile, stub(top, 1, "a"), stub(top, 16, "b")), false);
      assert.equal(wins(profile, stub(top, 16, "b"), stub(top, 1, "a")), true);
      assert.equal(wins(profile, stub(0n, 16), stub(top, 1)), false);
    }
  });

  test("the largest operands have 8,193 and 2,049 bits [LB-HASH-12] [LB-HASH-17]", () => {
    const largest = { "HRW-SHA256": [8193, 8224], "HRW-SHA256-64": [2049, 2080] };
    for (const profile of profileNames) {
      const { bits } = hashProfiles[profile];
      const contender = new Contender(utf8("r"), 16, digestOfHash(largestHash(profile), bits));
      const [left, right] = powers(hashProfiles[profile], contender, contender);
      const [real, bound] = largest[profile] as [number, number];
      assert.equal(left, right);
      assert.equal(left.toString(2).length, real);
      assert.ok(real <= bound && bound === (bits + 1) * 32);
    }
  });

  test("a tie goes to the smaller RID, a prefix before its extensions [LB-HASH-13] [RT-07]", () => {
    const tied = (rid: Uint8Array) => ({ rid, weight: 1, hash: 77n });
    const pairs: [number[], number[]][] = [
      [[0x61], [0x61, 0x62]],
      [[0x61], [0x61, 0x00]],
      [[0x7f], [0x80]],
      [[0x61, 0x62, 0x63], [0x62]],
      [[], [0x00]],
    ];
    for (const [smaller, larger] of pairs) {
      const [a, b] = [tied(Uint8Array.from(smaller)), tied(Uint8Array.from(larger))];
      for (const profile of profileNames) {
        assert.equal(wins(profile, a, b), true);
        assert.equal(wins(profile, b, a), false);
      }
    }
  });

  test("RIDs are ordered as unsigned bytes, not by length or sign [LB-S29] [LB-S26]", () => {
    const tied = (...rid: number[]) => ({ rid: Uint8Array.from(rid), weight: 3, hash: 5n });
    assert.equal(wins("HRW-SHA256", tied(0x10, 0x10), tied(0x20)), true);
    assert.equal(wins("HRW-SHA256", tied(0xff), tied(0x01)), false);
  });

  test("agrees with the full powers on any hashes and weights [LB-HASH-8] [LB-HASH-15]", () => {
    for (const profile of profileNames) {
      const side = fc.tuple(anyHash(profile), anyWeight);
      fc.assert(
        fc.property(side, side, ([hashA, weightA], [hashB, weightB]) => {
          const [a, b] = [stub(hashA, weightA, "a"), stub(hashB, weightB, "b")];
          assert.equal(wins(profile, a, b), referenceWins(profile, a, b));
        }),
        { numRuns: 1000 },
      );
    }
  });

  test("agrees with the full powers close to the threshold [LB-HASH-8] [LB-HASH-15]", () => {
    fc.assert(
      fc.property(
        anyHash("HRW-SHA256-64"),
        anyWeight,
        anyWeight,
        fc.bigInt({ min: -(2n ** 45n), max: 2n ** 45n }),
        (hash, weightA, weightB, distance) => {
          const b = stub(hash, weightB, "b");
          const near = threshold("HRW-SHA256-64", weightA, b) + distance;
          if (near < 0n || near > largestHash("HRW-SHA256-64")) return;
          const a = stub(near, weightA, "z");
          assert.equal(wins("HRW-SHA256-64", a, b), distance >= 0n);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("is a strict total order [LB-HASH-14]", () => {
    for (const profile of profileNames) {
      const candidate = fc.record({
        rid: fc.uint8Array({ maxLength: 2 }),
        weight: anyWeight,
        hash: anyHash(profile),
      });
      fc.assert(
        fc.property(candidate, candidate, candidate, (a, b, c) => {
          assert.equal(wins(profile, a, a), false);
          const distinct = JSON.stringify([...a.rid]) !== JSON.stringify([...b.rid]);
          if (distinct) assert.equal(wins(profile, a, b), !wins(profile, b, a));
          if (wins(profile, a, b) && wins(profile, b, c)) assert.equal(wins(profile, a, c), true);
        }),
        { numRuns: 500 },
      );
    }
  });

  test("refuses what no hashed candidate can be", () => {
    const refused = (code: string, what: RegExp) => (error: unknown) =>
      error instanceof HrwError && error.code === code && what.test(error.message);
    const fine = stub(1n);
    const attempt = (a: unknown) => () => wins("HRW-SHA256-64", a as HashedCandidate, fine);
    assert.throws(attempt({ ...fine, weight: 0 }), refused("INVALID_WEIGHT", /positive/));
    assert.throws(
      attempt({ ...fine, weight: 17 }),
      refused("INVALID_WEIGHT", /^a\.weight.*0\.\.16/),
    );
    assert.throws(attempt({ ...fine, hash: 2n ** 64n }), refused("INVALID_HASH", /2\^64-1/));
    assert.throws(attempt({ ...fine, hash: -1n }), refused("INVALID_HASH", /2\^64-1/));
    assert.throws(attempt({ ...fine, hash: 5 }), refused("INVALID_HASH", /bigint/));
    assert.throws(attempt({ ...fine, rid: "r" }), refused("INVALID_RID", /^a\.rid/));
    assert.throws(attempt(null), refused("INVALID_CANDIDATE", /^a has to be an object/));
    assert.throws(attempt(undefined), refused("INVALID_CANDIDATE", /^a has to be an object/));
    assert.throws(
      () => wins("HRW-MD5" as HashProfileName, fine, fine),
      refused("UNKNOWN_PROFILE", /HRW-SHA256/),
    );
  });
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { IdentifierTable, secureRandomUint32 } from "../../../src/client-group/mod.ts";

/** Gives the numbers one after another, and fails where more are asked for. */
function scripted(...numbers: number[]) {
  return () => {
    const next = numbers.shift();
    assert.ok(next !== undefined, "no more numbers");
    return next;
  };
}

describe("identifiers of a connection", () => {
  test("are what randomness gave, zero included, and nothing else [CG-FIELD-7, CG-FIELD-8, CG-FIELD-9, CG-S12]", () => {
    const table = new IdentifierTable<string>({ random: scripted(0xbc55, 0, 0xffff_ffff) });
    assert.equal(table.assign("A"), 48_213);
    assert.equal(table.assign("B"), 0);
    assert.equal(table.assign("C"), 4_294_967_295);
    assert.deepEqual(table.holderOf(0), { client: "B" });
  });

  test("stay a client's own for all its requests [CG-FIELD-6, CG-FIELD-11, CG-FIELD-20, CG-PRIV-4]", () => {
    const table = new IdentifierTable<string>({ random: scripted(907, 48_213) });
    assert.equal(table.assign("B"), 907);
    assert.equal(table.assign("A"), 48_213);
    for (let request = 0; request < 100; request++) assert.equal(table.assign("B"), 907);
    assert.equal(table.identifierOf("B"), 907);
    assert.equal(table.identifierOf("C"), undefined);
  });

  test("are drawn again where they are taken [CG-FIELD-10, CG-S13, F06]", () => {
    const table = new IdentifierTable<string>({ random: scripted(907, 907, 907, 1) });
    assert.equal(table.assign("A"), 907);
    assert.equal(table.assign("B"), 1);
  });

  test("are never given to another client, even of one that is forgotten [CG-FIELD-13, CG-S14, CG-A5, CG-S15]", () => {
    const table = new IdentifierTable<string>({ random: scripted(907, 907, 1, 907, 2) });
    assert.equal(table.assign("B"), 907);
    table.forget("B");
    assert.equal(table.holderOf(907), undefined);
    assert.equal(table.identifierOf("B"), undefined);
    assert.equal(table.assign("A"), 1);
    assert.equal(table.assign("B"), 2);
    table.forget("nobody");
    assert.equal(table.size, 3);
  });

  test("stay in use while their client is idle, until it is forgotten [CG-ACT-8, CG-A4, CG-S26]", () => {
    const table = new IdentifierTable<string>({ random: scripted(907) });
    table.assign("B");
    assert.deepEqual(table.holderOf(907), { client: "B" });
    assert.equal(table.holderOf(1), undefined);
  });

  test("are unrelated between connections [CG-FIELD-12, CG-FIELD-14, CG-PRIV-1, CG-PRIV-3, F06]", () => {
    const seen = new Set<number>();
    for (let connection = 0; connection < 1_000; connection++) {
      const table = new IdentifierTable<string>();
      const identifier = table.assign("B") as number;
      seen.add(identifier);
      const other = new IdentifierTable<string>();
      assert.equal(other.holderOf(identifier), undefined);
    }
    // Of 1,000 draws, a pair is equal once in about 8,600 runs; three pairs never.
    assert.ok(seen.size >= 998);
  });

  test("tell two connections of one user apart where each is a client [CG-PRIV-5]", () => {
    const table = new IdentifierTable<object>({ random: scripted(5, 6) });
    assert.equal(table.assign({ user: "B" }), 5);
    assert.equal(table.assign({ user: "B" }), 6);
  });

  test("come from the whole range, each bit as likely as not [CG-FIELD-7, CG-FIELD-8, F06]", () => {
    const draws = 20_000;
    const ones = new Array<number>(32).fill(0);
    const differences = new Set<number>();
    let before = 0;
    for (let i = 0; i < draws; i++) {
      const identifier = secureRandomUint32();
      for (let bit = 0; bit < 32; bit++) {
        ones[bit] = (ones[bit] as number) + ((identifier >>> bit) & 1);
      }
      differences.add(identifier - before);
      before = identifier;
    }
    // Eight standard deviations of a fair coin: sqrt(20,000) / 2 = 71.
    for (const count of ones) assert.ok(Math.abs(count - draws / 2) < 8 * 71, `${count}`);
    assert.ok(differences.size > draws - 5);
  });

  test("end where their maximum was given out, with nothing lost [CG-S14]", () => {
    const table = new IdentifierTable<string>({ random: scripted(1, 2), maximum: 2 });
    assert.equal(table.assign("A"), 1);
    assert.equal(table.assign("B"), 2);
    assert.equal(table.assign("C"), undefined);
    table.forget("A");
    assert.equal(table.assign("C"), undefined);
    assert.equal(table.assign("B"), 2);
    assert.equal(table.size, 2);
  });

  test("are not had from a source that repeats itself or is none [CG-FIELD-10]", () => {
    const constant = new IdentifierTable<string>({ random: () => 907 });
    constant.assign("A");
    assert.throws(() => constant.assign("B"), { code: "BAD_RANDOMNESS" });
    assert.equal(constant.size, 1);
    for (const number of [-1, 0.5, 2 ** 32, Number.NaN]) {
      const table = new IdentifierTable<string>({ random: () => number });
      assert.throws(() => table.assign("A"), { code: "BAD_RANDOMNESS" });
      assert.equal(table.size, 0);
    }
    for (const maximum of [0, -1, 1.5, 2 ** 31 + 1, Number.NaN]) {
      assert.throws(() => new IdentifierTable({ maximum }), { code: "INVALID_CONFIGURATION" });
    }
  });

  test("name one client each, whatever comes and goes [CG-FIELD-10, CG-FIELD-11, CG-S14]", () => {
    const step = fc.record({
      client: fc.integer({ min: 0, max: 5 }),
      leaves: fc.boolean(),
    });
    const numbers = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 5, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), numbers, (steps, drawn) => {
        let draw = 0;
        // A small range, so that numbers repeat; after it fresh ones.
        const random = () => drawn[draw++] ?? 1_000 + draw;
        const table = new IdentifierTable<number>({ random, maximum: 25 });
        const everyOwner = new Map<number, number>();
        const present = new Map<number, number>();
        for (const { client, leaves } of steps) {
          if (leaves) {
            table.forget(client);
            present.delete(client);
            continue;
          }
          const identifier = table.assign(client);
          if (identifier === undefined) {
            assert.equal(table.size, 25);
            continue;
          }
          const before = present.get(client);
          if (before !== undefined) assert.equal(identifier, before);
          else assert.ok(!everyOwner.has(identifier), "given out twice");
          everyOwner.set(identifier, client);
          present.set(client, identifier);
        }
        for (const [identifier, client] of everyOwner) {
          const there = present.get(client) === identifier;
          assert.deepEqual(table.holderOf(identifier), there ? { client } : undefined);
        }
      }),
    );
  });
});

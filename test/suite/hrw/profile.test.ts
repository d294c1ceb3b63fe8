import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  candidateHash,
  defaultHashProfile,
  hashProfiles,
  isHashProfileName,
} from "../../../src/hrw/mod.ts";
import { fields, utf8 } from "./names.ts";

describe("hash profiles", () => {
  test("the table has one entry for each registered profile and no other [LB-IANA-1]", () => {
    assert.deepEqual(Object.keys(hashProfiles), ["HRW-SHA256", "HRW-SHA256-64"]);
  });

  test("an entry exposes name, algorithm, width and reference [LB-IANA-2] [LB-IANA-3]", () => {
    const { name, algorithm, bits, reference } = hashProfiles["HRW-SHA256"];
    assert.deepEqual([name, algorithm, bits], ["HRW-SHA256", "SHA-256", 256]);
    assert.match(reference, /MoQ-LB/);
  });

  test("HRW-SHA256-64 keeps the first 8 bytes of SHA-256 [LB-IANA-4]", () => {
    const { name, algorithm, bits } = hashProfiles["HRW-SHA256-64"];
    assert.deepEqual([name, algorithm, bits], ["HRW-SHA256-64", "SHA-256, first 8 bytes", 64]);
  });

  test("the modulus is one above the power of two of the width [LB-PROFILE-1]", () => {
    assert.equal(hashProfiles["HRW-SHA256-64"].modulus, 0x1_0000_0000_0000_0001n);
    assert.equal(hashProfiles["HRW-SHA256"].modulus, BigInt(`0x1${"0".repeat(63)}1`));
  });

  test("HRW-SHA256 hashes to the whole digest [LB-PROFILE-2] [LB-PROFILE-4]", () => {
    const digest = 0x2abc0249e6628fc3222193aa969cf3ecc8acbca5c158e58587c1d7e0e13b7f93n;
    assert.equal(
      candidateHash("HRW-SHA256", fields("live", "sports", "game-7"), utf8("R2")),
      digest,
    );
  });

  test("HRW-SHA256-64 hashes to the first 8 bytes [LB-PROFILE-3] [LB-PROFILE-4] [LB-S31]", () => {
    const hash = candidateHash("HRW-SHA256-64", fields("live", "sports", "game-7"), utf8("R2"));
    assert.equal(hash, 0x2abc0249e6628fc3n);
  });

  test("a route that names no profile gets HRW-SHA256 [LB-PROFILE-8]", () => {
    assert.equal(defaultHashProfile, "HRW-SHA256");
  });

  test("names are compared exactly, and inherited properties are no names [LB-S33]", () => {
    assert.equal(isHashProfileName("HRW-SHA256"), true);
    assert.equal(isHashProfileName("HRW-SHA256-64"), true);
    for (const text of ["hrw-sha256", "HRW-SHA256 ", "HRW-BLAKE3", "", "toString", "__proto__"]) {
      assert.equal(isHashProfileName(text), false);
    }
  });
});

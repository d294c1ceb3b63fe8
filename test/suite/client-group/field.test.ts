import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  clientGroupOf,
  formatClientGroup,
  parseClientGroup,
  withClientGroup,
  withoutClientGroup,
} from "../../../src/client-group/mod.ts";

const identifiers = fc.integer({ min: 0, max: 0xffff_ffff });

describe("Client-Group", () => {
  test("is an Integer from 0 to 4294967295 [CG-FIELD-1, CG-S12]", () => {
    assert.equal(parseClientGroup("0"), 0);
    assert.equal(parseClientGroup("907"), 907);
    assert.equal(parseClientGroup("4294967295"), 4_294_967_295);
    for (const value of ["4294967296", "-1", "999999999999999", "1000000000000000"]) {
      assert.equal(parseClientGroup(value), undefined, value);
    }
  });

  test("is no Decimal, String, Token, Boolean, Date or Byte Sequence [CG-FIELD-1]", () => {
    for (const value of ["1.0", "907.5", "1.", '"1"', "a1", "?1", "@907", ":AQ==:", '%"1"']) {
      assert.equal(parseClientGroup(value), undefined, value);
    }
  });

  test("may be written as RFC 9651 lets an Integer be written [CG-FIELD-1]", () => {
    assert.equal(parseClientGroup("  907  "), 907);
    assert.equal(parseClientGroup("000000000000907"), 907);
    assert.ok(Object.is(parseClientGroup("-0"), 0));
    for (const value of ["0000000000000907", "+907", "9 07", "0x38b", "907\t", "\u00a0907", "٩"]) {
      assert.equal(parseClientGroup(value), undefined, value);
    }
  });

  test("has parameters ignored, whatever they are [CG-FIELD-3]", () => {
    for (const value of ["907;x=1", "907;x", "907; x=1.5;y=?0", '907;a="b;c";*k=:AQ==:']) {
      assert.equal(parseClientGroup(value), 907, value);
    }
  });

  test("with parameters that are none is no Item, and names no group [CG-FIELD-3, CG-A6]", () => {
    for (const value of ["907;", "907;X=1", "907;x=", "907 ;x=1", "907;x=1;", "907;x=(1)"]) {
      assert.equal(parseClientGroup(value), undefined, value);
    }
  });

  test("that is missing, empty, a list or malformed names no group [CG-A6, CG-S16]", () => {
    for (const value of [
      undefined,
      null,
      "",
      " ",
      "7, 8",
      "7,7",
      "907,",
      ",907",
      "(907)",
      "x=907",
    ]) {
      assert.equal(parseClientGroup(value), undefined, String(value));
    }
    assert.equal(clientGroupOf([{ name: "accept", value: "1" }]), undefined);
  });

  test("on two lines names no group, even with one value twice [CG-A6, CG-S16]", () => {
    const line = { name: "client-group", value: "907" };
    assert.equal(clientGroupOf([line]), 907);
    assert.equal(clientGroupOf([line, line]), undefined);
    assert.equal(clientGroupOf([line, { name: "client-group", value: "" }]), undefined);
  });

  test("is not read from a name that only looks like it [F04]", () => {
    for (const name of ["client_group", "client-group ", "client-group\t", "client-groups"]) {
      assert.equal(clientGroupOf([{ name, value: "907" }]), undefined, name);
    }
    const underscore = [{ name: "client_group", value: "907" }];
    assert.equal(withoutClientGroup(underscore), underscore);
  });

  test("is written as digits without parameters [CG-FIELD-2, CG-EX-1]", () => {
    assert.equal(formatClientGroup(48_213), "48213");
    assert.equal(formatClientGroup(907), "907");
    assert.equal(formatClientGroup(0), "0");
    assert.equal(formatClientGroup(-0), "0");
    assert.equal(formatClientGroup(4_294_967_295), "4294967295");
    for (const value of [-1, 4_294_967_296, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => formatClientGroup(value), { code: "INVALID_IDENTIFIER" });
    }
  });

  test("of a client gives way to one line of ours [CG-FIELD-4, CG-FIELD-15, CG-SEC-4, F01]", () => {
    const sent = [
      { name: ":method", value: "GET" },
      { name: "client-group", value: "7" },
      { name: "CLIENT-GROUP", value: "7, 8" },
      { name: "accept", value: "*/*" },
      { name: "Client-Group", value: "9" },
    ];
    assert.deepEqual(withClientGroup(sent, 907), [
      { name: ":method", value: "GET" },
      { name: "accept", value: "*/*" },
      { name: "client-group", value: "907" },
    ]);
  });

  test("is removed from headers and trailers both ways [CG-FIELD-5, CG-FIELD-15, CG-FIELD-18, CG-A21, CG-S18]", () => {
    const trailers = [
      { name: "x-checksum", value: "1", neverIndex: true },
      { name: "Client-Group", value: "907" },
    ];
    assert.deepEqual(withoutClientGroup(trailers), [
      { name: "x-checksum", value: "1", neverIndex: true },
    ]);
    const clean = [{ name: ":status", value: "200" }];
    assert.equal(withoutClientGroup(clean), clean);
  });

  test("comes back as it went, and from no text as anything but an identifier [CG-FIELD-1]", () => {
    fc.assert(
      fc.property(identifiers, (identifier) => {
        assert.equal(parseClientGroup(formatClientGroup(identifier)), identifier);
      }),
    );
    const text = fc.string({ unit: fc.constantFrom(...'0129-.;=x," ?@:%(é') });
    fc.assert(
      fc.property(text, (value) => {
        const identifier = parseClientGroup(value);
        if (identifier === undefined) return;
        const digits = /^ *-?(\d{1,15})(;| *$)/.exec(value)?.[1];
        assert.equal(identifier, Number(digits));
        assert.ok(identifier <= 0xffff_ffff);
      }),
      { numRuns: 2_000 },
    );
  });
});

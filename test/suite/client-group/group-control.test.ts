import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { fromHex, toHex } from "../../../src/bytes.ts";
import {
  actionOf,
  codePointsWith,
  controlOf,
  decodeGroupControl,
  encodeGroupControl,
  encodeGroupControlFrame,
  type GroupControl,
  groupActions,
  groupControlUnexpected,
  IntermediarySettings,
  receiveGroupControl,
} from "../../../src/client-group/mod.ts";

const POLICY = 0xf0c2;
const versions = ["h2", "h3"] as const;
const protocolError = { code: "PROTOCOL_ERROR", numericCode: 0x1n };
const frameSizeError = { code: "FRAME_SIZE_ERROR", numericCode: 0x6n };
const frameUnexpected = { code: "H3_FRAME_UNEXPECTED", numericCode: 0x105n };
const frameError = { code: "H3_FRAME_ERROR", numericCode: 0x106n };

function hex(text: string): Uint8Array {
  const bytes = fromHex(text.replaceAll(" ", ""));
  assert.ok(bytes);
  return bytes;
}

const block = { group: 907, value: 60, action: 1, boundary: 0n };
const goaway = (boundary: bigint) => ({ group: 907, value: 1, action: 0, boundary });

/** A connection on which sharing was offered and `policy`, if any, came back. */
function settings(version: "h2" | "h3", policy?: number) {
  const state = new IntermediarySettings(version);
  state.receive(policy === undefined ? [] : [[POLICY, policy]]);
  return state;
}

describe("GROUP_CONTROL", () => {
  test("h2: BLOCK and GOAWAY of the examples have these 13 octets [CG-FRAME2-5, CG-FRAME2-6, CG-FRAME2-7, CG-BOUND-7, CG-EX-2, CG-EX-7]", () => {
    assert.equal(toHex(encodeGroupControl("h2", block)), "0000038b0000003c0100000000");
    assert.equal(toHex(encodeGroupControl("h2", goaway(43n))), "0000038b00000001000000002b");
    assert.deepEqual(decodeGroupControl("h2", hex("0000038b 0000003c 01 00000000")), block);
    assert.deepEqual(decodeGroupControl("h2", hex("0000038b 00000001 00 0000002b")), goaway(43n));
  });

  test("h2: R is ignored [CG-FRAME2-8, E01]", () => {
    assert.deepEqual(decodeGroupControl("h2", hex("0000038b 00000001 00 8000002b")), goaway(43n));
    assert.equal(
      decodeGroupControl("h2", hex("0000038b 00000001 00 ffffffff")).boundary,
      2_147_483_647n,
    );
  });

  test("h3: the reference frames have 10, 10, 11 and 17 octets [CG-FRAME3-2, CG-FRAME3-3]", () => {
    for (const [boundary, text] of [
      [0n, "0000038b 00000001 00 00"],
      [44n, "0000038b 00000001 00 2c"],
      [176n, "0000038b 00000001 00 40b0"],
      [2n ** 62n - 4n, "0000038b 00000001 00 fffffffffffffffc"],
    ] as const) {
      assert.equal(toHex(encodeGroupControl("h3", goaway(boundary))), text.replaceAll(" ", ""));
      assert.deepEqual(decodeGroupControl("h3", hex(text)), goaway(boundary));
    }
  });

  test("h3: a Boundary may be longer than need be, and any number [CG-FRAME3-2, CG-S23, CG-S25, CG-A9, E02]", () => {
    for (const boundary of ["402c", "8000002c", "c00000000000002c"]) {
      assert.deepEqual(
        decodeGroupControl("h3", hex(`0000038b 00000001 00 ${boundary}`)),
        goaway(44n),
      );
    }
    assert.equal(decodeGroupControl("h3", hex("0000038b 00000001 00 2b")).boundary, 43n);
  });

  test("h2: a length other than 13 is FRAME_SIZE_ERROR, whatever the action [CG-FRAME2-11, CG-S19, E01]", () => {
    const octets = hex("0000038b 00000001 7f 0000002b 00");
    for (const length of [0, 9, 10, 11, 12, 14]) {
      const payload = octets.subarray(0, length);
      assert.throws(() => decodeGroupControl("h2", payload), frameSizeError);
    }
    assert.throws(() => decodeGroupControl("h2", new Uint8Array(16_384)), frameSizeError);
    assert.equal(decodeGroupControl("h2", octets.subarray(0, 13)).action, 0x7f);
  });

  test("h3: one that is cut short is H3_FRAME_ERROR [CG-FRAME3-6, E02]", () => {
    const octets = hex("0000038b 00000001 00 c00000000000002c");
    for (let length = 0; length < octets.length; length++) {
      const payload = octets.subarray(0, length);
      assert.throws(() => decodeGroupControl("h3", payload), frameError, `${length} octets`);
    }
    assert.throws(() => decodeGroupControl("h3", hex("0000038b 00000001 00 40")), frameError);
  });

  test("h3: an octet too many is H3_FRAME_ERROR, and so is the layout of h2 [CG-FRAME3-7, CG-S22, E02]", () => {
    for (const boundary of ["2c 00", "40b0 00", "0000002b", "fffffffffffffffc 00"]) {
      const payload = hex(`0000038b 00000001 00 ${boundary}`);
      assert.throws(() => decodeGroupControl("h3", payload), frameError);
    }
  });

  test("is read out of the middle of a larger buffer [CG-FRAME2-5, CG-FRAME3-2]", () => {
    const octets = hex("ffff 0000038b 0000003c 01 00000000 ffff");
    assert.deepEqual(decodeGroupControl("h2", octets.subarray(2, 15)), block);
    assert.deepEqual(decodeGroupControl("h3", octets.subarray(2, 12)), block);
  });

  test("h2: the frame is on stream 0 without flags [CG-FRAME2-4, CG-FRAME2-12]", () => {
    assert.equal(
      toHex(encodeGroupControlFrame("h2", block)),
      "00000df70000000000" + "0000038b0000003c0100000000",
    );
    const points = codePointsWith({ h2: { groupControl: 0xaan } });
    assert.equal(encodeGroupControlFrame("h2", block, points)[3], 0xaa);
  });

  test("h3: the frame has its type and length as varints [CG-FRAME3-1, CG-FRAME3-2, CG-FRAME3-8]", () => {
    assert.equal(
      toHex(encodeGroupControlFrame("h3", goaway(44n))),
      "40f70a" + "0000038b00000001002c",
    );
  });

  test("is not written with a field out of its range [CG-FRAME2-5, CG-FRAME3-3]", () => {
    for (const [version, wrong, code] of [
      ["h2", { group: 2 ** 32 }, "INVALID_IDENTIFIER"],
      ["h2", { group: -1 }, "INVALID_IDENTIFIER"],
      ["h2", { value: 2 ** 32 }, "INVALID_FRAME"],
      ["h3", { value: 1.5 }, "INVALID_FRAME"],
      ["h3", { action: 256 }, "INVALID_FRAME"],
      ["h2", { boundary: 2n ** 31n }, "INVALID_FRAME"],
      ["h3", { boundary: 2n ** 62n }, "INVALID_FRAME"],
      ["h3", { boundary: -1n }, "INVALID_FRAME"],
    ] as const) {
      assert.throws(() => encodeGroupControl(version, { ...block, ...wrong }), { code });
    }
  });

  test("comes back as it went, and any bytes are a frame or one typed error [CG-FRAME2-6, CG-FRAME3-6]", () => {
    const word = fc.integer({ min: 0, max: 0xffff_ffff });
    for (const [version, largest, code] of [
      ["h2", 2n ** 31n - 1n, "FRAME_SIZE_ERROR"],
      ["h3", 2n ** 62n - 1n, "H3_FRAME_ERROR"],
    ] as const) {
      const fields = {
        group: word,
        value: word,
        action: fc.integer({ min: 0, max: 255 }),
        boundary: fc.bigInt(0n, largest),
      };
      const control = fc.record(fields, { noNullPrototype: true });
      fc.assert(
        fc.property(control, (sent) => {
          assert.deepEqual(decodeGroupControl(version, encodeGroupControl(version, sent)), sent);
        }),
      );
      fc.assert(
        fc.property(fc.uint8Array({ minLength: 6, maxLength: 20 }), (payload) => {
          let control: GroupControl;
          try {
            control = decodeGroupControl(version, payload);
          } catch (error) {
            assert.equal((error as { code: string }).code, code);
            return;
          }
          // What was read, written again, is the same but for R and the length of the Boundary.
          const again = encodeGroupControl(version, control);
          assert.deepEqual(again.subarray(0, 9), payload.subarray(0, 9));
          assert.deepEqual(decodeGroupControl(version, again), control);
        }),
      );
    }
  });
});

describe("GROUP_CONTROL arriving", () => {
  const payload = hex("0000038b 0000003c 01 00000000");
  const payloads = { h2: payload, h3: payload.subarray(0, 10) };
  const unexpected = { h2: protocolError, h3: frameUnexpected };

  for (const version of versions) {
    test(`${version}: is taken where POLICY was received [CG-FRAME2-3, CG-SEC-5]`, () => {
      const arrival = {
        settings: settings(version, 3),
        inPlace: true,
        payload: payloads[version],
      };
      assert.deepEqual(receiveGroupControl(arrival), block);
    });

    test(`${version}: is ignored where POLICY was not sent, and still has to be well formed [CG-A10, CG-S57]`, () => {
      const arrival = { settings: settings(version), inPlace: true };
      assert.equal(receiveGroupControl({ ...arrival, payload: payloads[version] }), undefined);
      const short = payload.subarray(0, 8);
      assert.throws(
        () => receiveGroupControl({ ...arrival, payload: short }),
        version === "h2" ? frameSizeError : frameError,
      );
    });

    test(`${version}: on another stream is a connection error [CG-FRAME2-10, CG-FRAME3-5, CG-S19, A15, E01, E02]`, () => {
      for (const octets of [payloads[version], payload.subarray(0, 8)]) {
        assert.throws(
          () =>
            receiveGroupControl({
              settings: settings(version, 3),
              inPlace: false,
              payload: octets,
            }),
          unexpected[version],
        );
      }
    });

    test(`${version}: at a client that did not offer to share is a connection error, before all else [CG-ERR-3, CG-S19]`, () => {
      const plain = new IntermediarySettings(version, { offered: false });
      plain.receive([[POLICY, 3]]);
      for (const octets of [payloads[version], new Uint8Array(3)]) {
        assert.throws(
          () => receiveGroupControl({ settings: plain, inPlace: true, payload: octets }),
          unexpected[version],
        );
      }
    });

    test(`${version}: from a client is a connection error [CG-ERR-1, CG-ERR-2, CG-S58, CG-SEC-5]`, () => {
      const error = groupControlUnexpected(version);
      assert.equal(error.code, unexpected[version].code);
      assert.equal(error.numericCode, unexpected[version].numericCode);
    });

    test(`${version}: before SETTINGS is a connection error [CG-S24]`, () => {
      const arrival = {
        settings: new IntermediarySettings(version),
        inPlace: true,
        payload: payloads[version],
      };
      assert.throws(
        () => receiveGroupControl(arrival),
        version === "h2" ? protocolError : { code: "H3_MISSING_SETTINGS", numericCode: 0x10an },
      );
    });
  }
});

describe("actions", () => {
  test("are four [CG-ACT-9]", () => {
    assert.deepEqual(groupActions, { GOAWAY: 0, BLOCK: 1, LIMIT: 2, CLEAR: 3 });
  });

  test("are read off the frame [CG-ACT-1, CG-ACT-2, CG-ACT-3, CG-ACT-4]", () => {
    assert.deepEqual(actionOf(goaway(43n)), {
      type: "GOAWAY",
      group: 907,
      alone: true,
      boundary: 43n,
    });
    assert.deepEqual(actionOf(block), { type: "BLOCK", group: 907, seconds: 60 });
    assert.deepEqual(actionOf({ ...block, action: 2, value: 3 }), {
      type: "LIMIT",
      group: 907,
      requests: 3,
    });
    assert.deepEqual(actionOf({ ...block, action: 3 }), { type: "CLEAR", group: 907 });
  });

  test("that are not known are ignored [CG-ACT-7]", () => {
    for (const action of [4, 0x7f, 0xff]) assert.equal(actionOf({ ...block, action }), undefined);
  });

  test("GOAWAY with a Value other than 1 asks for no connection of its own [CG-GOAWAY-5, CG-GOAWAY-6]", () => {
    for (const value of [0, 2, 7, 0xffff_ffff]) {
      assert.deepEqual(actionOf({ ...goaway(43n), value }), {
        type: "GOAWAY",
        group: 907,
        alone: false,
        boundary: 43n,
      });
    }
  });

  test("BLOCK is valid from 1 to 86400 seconds [CG-BLOCK-4, CG-SEC-7]", () => {
    for (const [value, valid] of [
      [0, false],
      [1, true],
      [86_400, true],
      [86_401, false],
      [0xffff_ffff, false],
    ] as const) {
      const seconds = valid ? { type: "BLOCK", group: 907, seconds: value } : undefined;
      assert.deepEqual(actionOf({ ...block, value }), seconds);
    }
  });

  test("LIMIT 0 is ignored [CG-LIMIT-4]", () => {
    assert.equal(actionOf({ ...block, action: 2, value: 0 }), undefined);
  });

  test("ignore a Boundary but for GOAWAY, and CLEAR its Value [CG-BOUND-8, CG-CLEAR-4]", () => {
    assert.deepEqual(actionOf({ ...block, boundary: 1n }), {
      type: "BLOCK",
      group: 907,
      seconds: 60,
    });
    assert.deepEqual(actionOf({ ...block, action: 3, value: 0xffff_ffff, boundary: 1n }), {
      type: "CLEAR",
      group: 907,
    });
  });

  test("are written with Boundary 0 but for GOAWAY [CG-BOUND-7, CG-EX-2, CG-EX-7]", () => {
    assert.deepEqual(controlOf({ type: "BLOCK", group: 907, seconds: 60 }), block);
    assert.deepEqual(
      controlOf({ type: "GOAWAY", group: 907, alone: true, boundary: 43n }),
      goaway(43n),
    );
    assert.deepEqual(controlOf({ type: "LIMIT", group: 0, requests: 3 }), {
      group: 0,
      value: 3,
      action: 2,
      boundary: 0n,
    });
    assert.deepEqual(controlOf({ type: "CLEAR", group: 907 }), {
      group: 907,
      value: 0,
      action: 3,
      boundary: 0n,
    });
  });

  test("that a receiver would ignore are not written [CG-BLOCK-4, CG-LIMIT-4]", () => {
    for (const seconds of [0, 86_401, 0.5, Number.NaN]) {
      assert.throws(() => controlOf({ type: "BLOCK", group: 907, seconds }), {
        code: "INVALID_FRAME",
      });
    }
    for (const requests of [0, -1, 1.5]) {
      assert.throws(() => controlOf({ type: "LIMIT", group: 907, requests }), {
        code: "INVALID_FRAME",
      });
    }
  });
});

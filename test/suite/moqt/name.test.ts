import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  decodeControlMessage,
  encodeControlMessage,
  equalNamespaces,
  hasPrefix,
  nameProblem,
  type Subscribe,
  type SubscribeTracks,
} from "../../../src/moqt/mod.ts";
import { allDrafts, assertBytesClose, assertNotEncodable, fields, framed, hex } from "./support.ts";
import { vector } from "./vectors.ts";

function subscribe(trackNamespace: Uint8Array[], trackName: Uint8Array): Subscribe {
  return { type: "SUBSCRIBE", requestId: 0n, trackNamespace, trackName, parameters: [] };
}

function bytesOf(length: number): Uint8Array {
  return new Uint8Array(length).fill(0x61);
}

describe("a Track Namespace", () => {
  test("has 32 fields at most [NS-02]", () => {
    for (const draft of allDrafts) {
      const message = decodeControlMessage(hex(vector("ns-32")), draft);
      assert.ok(message.type === "SUBSCRIBE");
      assert.deepEqual(message.trackNamespace, fields(...Array<string>(32).fill("a")));
    }
    assertBytesClose("PROTOCOL_VIOLATION", framed("03", `00 21 ${"0161".repeat(33)} 0174 00`));
    assertNotEncodable(subscribe([...fields(...Array<string>(33).fill("a"))], bytesOf(1)));
  });

  test("has no empty field [NS-03]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", vector("ns-emptyfield"));
    assertNotEncodable(subscribe([...fields("live", "")], bytesOf(1)));
  });

  test("may have no field at all, in a request and as a prefix [NS-04] [NS-05]", () => {
    for (const draft of allDrafts) {
      const request = decodeControlMessage(hex(vector("ns-zero-sub")), draft);
      assert.ok(request.type === "SUBSCRIBE");
      assert.deepEqual(request.trackNamespace, []);
      for (const id of ["subns-empty", "subtracks-empty"]) {
        const prefix = decodeControlMessage(hex(vector(id)), draft);
        assert.ok("trackNamespacePrefix" in prefix);
        assert.deepEqual(prefix.trackNamespacePrefix, []);
      }
    }
  });

  test("keeps bytes that are no UTF-8 as they are [NS-09]", () => {
    for (const draft of allDrafts) {
      const message = decodeControlMessage(hex(vector("ns-nonutf8")), draft);
      assert.ok(message.type === "SUBSCRIBE");
      assert.deepEqual(message.trackNamespace, [hex("ff00"), hex("c328")]);
      assert.deepEqual(message.trackName, hex("80"));
      assert.equal(toHex(encodeControlMessage(message, draft)), vector("ns-nonutf8"));
    }
  });

  test("is never read past the length of its message [NS-10]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", vector("ns-short"));
    // The missing field follows, but belongs to the next message.
    assertBytesClose("PROTOCOL_VIOLATION", `${vector("ns-short")}0161017600`);
  });

  test("has more fields on the wire than bytes could hold: nothing is allocated for them", () => {
    assertBytesClose("PROTOCOL_VIOLATION", framed("03", "00 ffffffffffffffffff"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("03", "00 01 ffffffffffffffffff"));
  });

  test("may be spelled with longer integers than needed", () => {
    const digits = framed("8003", "8000 c00001 8004 6c697665 8001 76 8000");
    const message = decodeControlMessage(hex(digits), 22);
    assert.deepEqual(message, subscribe([...fields("live")], hex("76")));
  });

  test("may start with a dot: reserved names are no matter of the codec [NS-16]", () => {
    for (const [id, first] of [
      ["res-dot-sub", "."],
      ["res-other", ".catalog"],
    ] as const) {
      const message = decodeControlMessage(hex(vector(id)), 22);
      assert.ok(message.type === "SUBSCRIBE");
      assert.deepEqual(message.trackNamespace[0], fields(first)[0]);
    }
  });
});

describe("the limit of 4,096 bytes", () => {
  test("counts the fields and the Track Name, not their lengths [NS-06]", () => {
    const message = decodeControlMessage(hex(vector("ftn-4096")), 22);
    assert.ok(message.type === "SUBSCRIBE");
    assert.equal(message.trackNamespace[0]?.length, 4000);
    assert.equal(message.trackName.length, 96);
    assert.equal(toHex(encodeControlMessage(message, 22)), vector("ftn-4096"));

    const name97 = `00 01 8fa0 ${"61".repeat(4000)} 61 ${"74".repeat(97)} 00`;
    assertBytesClose("PROTOCOL_VIOLATION", framed("03", name97));
    assertNotEncodable(subscribe([bytesOf(4000)], bytesOf(97)));
  });

  test("holds for a prefix alone [NS-08]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", vector("prefix-4097"));
    const prefix = (length: number): SubscribeTracks => ({
      type: "SUBSCRIBE_TRACKS",
      requestId: 0n,
      trackNamespacePrefix: [bytesOf(2000), bytesOf(length - 2000)],
      parameters: [],
    });
    assertNotEncodable(prefix(4097));
    const allowed = encodeControlMessage(prefix(4096), 22);
    assert.deepEqual(decodeControlMessage(allowed, 22), prefix(4096));
  });

  test("holds for the target of a Redirect and for a suffix", () => {
    const target = `01 8fa0 ${"61".repeat(4000)} 61 ${"74".repeat(97)}`;
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", `34 00 00 00 ${target}`));
    assertBytesClose("PROTOCOL_VIOLATION", framed("0f", target));
  });
});

describe("comparison of namespaces", () => {
  test("goes by whole fields [LB-KEY-14]", () => {
    assert.equal(hasPrefix(fields("foo", "bar"), fields("foo")), true);
    assert.equal(hasPrefix(fields("foobar"), fields("foo")), false);
    assert.equal(hasPrefix(fields("foo"), fields("foo", "bar")), false);
    assert.equal(hasPrefix(fields("foo"), []), true);
    assert.equal(hasPrefix([], []), true);
  });

  test("is exact: no case, no normalisation", () => {
    assert.equal(equalNamespaces(fields("Live"), fields("live")), false);
    assert.equal(equalNamespaces(fields("\u00e9"), fields("e\u0301")), false);
    assert.equal(equalNamespaces(fields("a", "b"), fields("a", "b")), true);
    assert.equal(equalNamespaces(fields("a", "b"), fields("a")), false);
    assert.equal(equalNamespaces(fields("a"), fields("a", "b")), false);
  });

  test("names what is wrong with a name", () => {
    assert.equal(nameProblem(fields("a"), bytesOf(4095)), undefined);
    assert.match(nameProblem(fields("a"), bytesOf(4096)) ?? "", /4097 bytes/);
    assert.match(nameProblem(fields("a", "")) ?? "", /field 1 is empty/);
    assert.match(nameProblem(Array(33).fill(bytesOf(1))) ?? "", /33 fields/);
  });
});

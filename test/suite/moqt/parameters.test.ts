import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import {
  type Draft,
  decodeControlMessage,
  encodeControlMessage,
  type MessageParameter,
} from "../../../src/moqt/mod.ts";
import { allDrafts, assertBytesClose, assertNotEncodable, fields, framed, hex } from "./support.ts";

const request = { requestId: 0n, trackNamespace: fields("a"), trackName: utf8("t") };

function subscribe(...parameters: MessageParameter[]) {
  return { type: "SUBSCRIBE", ...request, parameters } as const;
}

/** Hexadecimal digits of a SUBSCRIBE with parameters. */
function withParameters(parameters: string): string {
  return framed("03", `00 01 0161 0174 ${parameters}`);
}

function parametersOf(digits: string, draft: Draft = 22): readonly MessageParameter[] {
  const message = decodeControlMessage(hex(withParameters(digits)), draft);
  assert.ok(message.type === "SUBSCRIBE");
  return message.parameters;
}

function encoded(...parameters: MessageParameter[]): string {
  return toHex(encodeControlMessage(subscribe(...parameters), 22));
}

describe("parameters", () => {
  test("come in ascending order, by deltas of their types", () => {
    const digits = "04 02 8064 02 8064 0c 00 22 05";
    const parameters: MessageParameter[] = [
      { type: "OBJECT_DELIVERY_TIMEOUT", value: 100n },
      { type: "RENDEZVOUS_TIMEOUT", value: 100n },
      { type: "FORWARD", value: 0 },
      { type: "NEW_GROUP_REQUEST", value: 5n },
    ];
    for (const draft of allDrafts) assert.deepEqual(parametersOf(digits, draft), parameters);
    assert.equal(encoded(...parameters), withParameters("04 02 64 02 64 0c 00 22 05"));
    assert.equal(encoded(...parameters.toReversed()), encoded(...parameters));
  });

  test("are one raw byte where the standard says so, whatever its highest bits", () => {
    assert.deepEqual(parametersOf("02 10 00 10 80"), [
      { type: "FORWARD", value: 0 },
      { type: "SUBSCRIBER_PRIORITY", value: 128 },
    ]);
    assert.equal(encoded({ type: "SUBSCRIBER_PRIORITY", value: 255 }), withParameters("01 20 ff"));
  });

  test("of an unknown type are a protocol violation, there is no skipping them [RQ-04]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 7e 00"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 809d 00"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 00 00"));
  });

  test("of a type beyond 2^64-1 are a protocol violation [VI-04]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("02 02 00 ffffffffffffffffff 00"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 ffffffffffffffffff 00"));
  });

  test("may not be repeated, tokens and range filters excepted", () => {
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("02 10 01 00 01"));
    assertNotEncodable(subscribe({ type: "FORWARD", value: 1 }, { type: "FORWARD", value: 1 }));
    const tokens = [1n, 2n].map(
      (alias): MessageParameter => ({
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "USE_ALIAS", alias },
      }),
    );
    assert.deepEqual(parametersOf("02 03 02 0201 00 02 0202"), tokens);
    assert.equal(encoded(...tokens), withParameters("02 03 02 0201 00 02 0202"));
    assert.equal(parametersOf("02 25 03 010302 00 03 020302").length, 2);
  });

  test("are as many as their number says: one more or less is a protocol violation", () => {
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("00 10 01"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("02 10 01"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("ffffffffffffffffff 10 01"));
    assertBytesClose("PROTOCOL_VIOLATION", withParameters(""));
  });

  test("have only values that are defined", () => {
    for (const parameter of ["10 02", "22 00", "22 03", "10 ff"]) {
      assertBytesClose("PROTOCOL_VIOLATION", withParameters(`01 ${parameter}`));
    }
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 35 02"), [20, 21, 22]);
    for (const value of [2, -1, 0.5]) {
      assertNotEncodable(subscribe({ type: "FORWARD", value } as unknown as MessageParameter));
    }
    for (const value of [256, -1, 0.5]) {
      assertNotEncodable(subscribe({ type: "SUBSCRIBER_PRIORITY", value }));
    }
    const order = { type: "GROUP_ORDER", value: undefined } as unknown as MessageParameter;
    assertNotEncodable(subscribe(order));
  });

  test("of a namespace have no length of their own", () => {
    const digits = framed("02", "02 01 34 02 0161 0162");
    const message = decodeControlMessage(hex(digits), 22, { updates: "SUBSCRIBE_TRACKS" });
    assert.deepEqual(message, {
      type: "REQUEST_UPDATE",
      requestId: 2n,
      parameters: [{ type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix: fields("a", "b") }],
    });
    assertBytesClose("PROTOCOL_VIOLATION", framed("02", "02 01 34 01 00"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("02", `02 01 34 21 ${"0161".repeat(33)}`));
  });
});

describe("FILL_PARAMETERS", () => {
  const wholeGroup: MessageParameter = {
    type: "FILL_PARAMETERS",
    parameters: [{ type: "LOCATION_FILTER", filter: { kind: "RELATIVE", groupsBack: 1n } }],
  };

  test("are read with and without a count, and written with one", () => {
    for (const draft of [20, 21, 22] as const) {
      assert.deepEqual(parametersOf("01 23 04 01 21 01 01", draft), [wholeGroup]);
      assert.deepEqual(parametersOf("01 23 03 21 01 01", draft), [wholeGroup]);
      const bytes = encodeControlMessage(subscribe(wholeGroup), draft);
      assert.equal(toHex(bytes), withParameters("01 23 04 01 21 01 01"));
    }
  });

  test("may be none at all", () => {
    const empty: MessageParameter = { type: "FILL_PARAMETERS", parameters: [] };
    assert.deepEqual(parametersOf("01 23 00"), [empty]);
    assert.deepEqual(parametersOf("01 23 01 00"), [empty]);
    assert.equal(encoded(empty), withParameters("01 23 01 00"));
  });

  test("hold the parameters of a fill and no others", () => {
    const [fill] = parametersOf("01 23 0f 05 0a 05 16 80 01 01 05 01 01 03 03 010302");
    assert.ok(fill?.type === "FILL_PARAMETERS");
    assert.deepEqual(
      fill.parameters.map(({ type }) => type),
      ["FILL_TIMEOUT", "SUBSCRIBER_PRIORITY", "LOCATION_FILTER", "GROUP_ORDER", "SUBGROUP_FILTER"],
    );
    for (const inner of ["01 10 01", "01 02 05", "01 23 01 00", "01 03 02 0201", "01 7e 00"]) {
      const length = inner.replaceAll(" ", "").length / 2;
      const digits = withParameters(`01 23 0${length} ${inner}`);
      assertBytesClose("PROTOCOL_VIOLATION", digits, [20, 21, 22]);
    }
    const nested: MessageParameter = {
      type: "FILL_PARAMETERS",
      parameters: [{ type: "FORWARD", value: 1 }],
    };
    assertNotEncodable(subscribe(nested), [20, 21, 22]);
  });

  test("fill their length exactly", () => {
    const digits = withParameters("01 23 05 01 21 01 01 00");
    assertBytesClose("PROTOCOL_VIOLATION", digits, [20, 21, 22]);
    assertBytesClose("PROTOCOL_VIOLATION", withParameters("01 23 7f 00"), [20, 21, 22]);
  });
});

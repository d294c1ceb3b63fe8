import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { SetupOption } from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertBytesClose,
  assertNotEncodable,
  assertRoundTrip,
  decodeHex,
  framed,
  hex,
} from "./support.ts";

function setup(...options: SetupOption[]) {
  return { type: "SETUP", options } as const;
}

describe("Setup Options", () => {
  test("are all known ones in ascending order", () => {
    const options: SetupOption[] = [
      { type: "PATH", value: "/a" },
      {
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8("s") },
      },
      { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1024n },
      { type: "AUTHORITY", value: "lb" },
      { type: "MAX_FILTER_RANGES", value: 8n },
      { type: "MOQT_IMPLEMENTATION", value: "ym" },
      { type: "MAX_REQUEST_UPDATES", value: 1n },
    ];
    const digits = framed(
      "af00",
      "01 02 2f61 02 03 030073 01 8400 01 02 6c62 01 08 01 02 796d 01 01",
    );
    assertRoundTrip(digits, setup(...options), [19, 20, 21, 22]);
    assertNotEncodable(setup(...options), [18]);
  });

  test("of later drafts are unknown to draft 18, which ignores them", () => {
    const unknown: SetupOption[] = [
      { type: "UNKNOWN", optionType: 6n, value: 8n },
      { type: "UNKNOWN", optionType: 8n, value: 1n },
    ];
    assertRoundTrip(framed("af00", "06 08 02 01"), setup(...unknown), [18]);
    assertNotEncodable(setup(...unknown), [19, 20, 21, 22]);
  });

  test("that nobody knows are kept, twice too, and grease among them", () => {
    assertRoundTrip("af0000047e010002", {
      type: "SETUP",
      options: [
        { type: "UNKNOWN", optionType: 0x7en, value: 1n },
        { type: "UNKNOWN", optionType: 0x7en, value: 2n },
      ],
    });
    assertRoundTrip("af000007809d0200ff7f07", {
      type: "SETUP",
      options: [
        { type: "UNKNOWN", optionType: 0x9dn, value: hex("00ff") },
        { type: "UNKNOWN", optionType: 0x11cn, value: 7n },
      ],
    });
  });

  test("that are known may not be repeated, tokens excepted", () => {
    assertBytesClose("PROTOCOL_VIOLATION", framed("af00", "04 01 00 01"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("af00", "01 01 2f 00 01 2f"));
    assertNotEncodable(
      setup(
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1n },
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1n },
      ),
    );
    const tokens = decodeHex(framed("af00", "03 03 030073 00 03 030074"));
    assert.ok(tokens.type === "SETUP");
    assert.equal(tokens.options.length, 2);
  });

  test("register tokens or carry them, and neither use nor delete an alias", () => {
    for (const token of ["0005", "0205"]) {
      assertBytesClose("PROTOCOL_VIOLATION", framed("af00", `03 02 ${token}`));
    }
    for (const aliasType of ["DELETE", "USE_ALIAS"] as const) {
      assertNotEncodable(setup({ type: "AUTHORIZATION_TOKEN", token: { aliasType, alias: 5n } }));
    }
    assertRoundTrip(
      framed("af00", "03 04 01050073"),
      setup({
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "REGISTER", alias: 5n, tokenType: 0n, tokenValue: utf8("s") },
      }),
    );
  });

  test("with a malformed token close with KEY_VALUE_FORMATTING_ERROR", () => {
    for (const token of ["03 00", "03 01 04", "03 02 0105", "03 02 0380"]) {
      assertBytesClose("KEY_VALUE_FORMATTING_ERROR", framed("af00", token));
    }
  });

  test("whose type would exceed 2^64-1 are a protocol violation [VI-04]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", "af00000cfffffffffffffffffe000200");
  });

  test("that are cut off are a protocol violation", () => {
    for (const body of ["01 05", "01", "04", "80", "04 80", "01 03 2f6d", "ff"]) {
      assertBytesClose("PROTOCOL_VIOLATION", framed("af00", body));
    }
  });

  test("have the kind of value that their type asks for", () => {
    const bytes: SetupOption = { type: "UNKNOWN", optionType: 0x7en, value: hex("00") };
    const integer: SetupOption = { type: "UNKNOWN", optionType: 0x7fn, value: 1n };
    for (const option of [bytes, integer]) assertNotEncodable(setup(option), allDrafts);
  });

  test("in text that is no UTF-8 show it: no such byte is legal in a URI", () => {
    const message = decodeHex(framed("af00", "01 02 2fff"));
    assert.deepEqual(message, setup({ type: "PATH", value: "/\ufffd" }));
  });
});

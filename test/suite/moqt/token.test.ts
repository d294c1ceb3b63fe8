import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { decodeControlMessage, MoqtError, type Token } from "../../../src/moqt/mod.ts";
import { assertBytesClose, assertRoundTrip, fields, framed, hex } from "./support.ts";

function withToken(token: string): string {
  const length = (token.length / 2).toString(16).padStart(2, "0");
  return framed("06", `00 01 0161 01 03 ${length} ${token}`);
}

function assertToken(digits: string, token: Token): void {
  assertRoundTrip(withToken(digits), {
    type: "PUBLISH_NAMESPACE",
    requestId: 0n,
    trackNamespace: fields("a"),
    parameters: [{ type: "AUTHORIZATION_TOKEN", token }],
  });
}

describe("an AUTHORIZATION_TOKEN", () => {
  test("registers, uses or deletes an alias, or carries a value", () => {
    const value = { tokenType: 0n, tokenValue: utf8("s") };
    assertToken("01050073", { aliasType: "REGISTER", alias: 5n, ...value });
    assertToken("0005", { aliasType: "DELETE", alias: 5n });
    assertToken("0205", { aliasType: "USE_ALIAS", alias: 5n });
    assertToken("030073", { aliasType: "USE_VALUE", ...value });
    assertToken("03809d", { aliasType: "USE_VALUE", tokenType: 0x9dn, tokenValue: hex("") });
  });

  test("that cannot be decoded closes with KEY_VALUE_FORMATTING_ERROR", () => {
    for (const token of [
      "",
      "04",
      "80",
      "00",
      "02",
      "000500",
      "020500",
      "01",
      "0105",
      "03",
      "0380",
    ]) {
      assertBytesClose("KEY_VALUE_FORMATTING_ERROR", withToken(token));
    }
    assertBytesClose("KEY_VALUE_FORMATTING_ERROR", withToken("ffffffffffffffffff00"));
  });

  test("longer than its message is a protocol violation", () => {
    assertBytesClose("PROTOCOL_VIOLATION", framed("06", "00 01 0161 01 03 04 030073"));
  });

  test("never shows in an error", () => {
    const secret = "0373656372657400";
    for (const digits of [withToken(secret).slice(0, -2), `${withToken(`${secret}73`)}00`]) {
      try {
        decodeControlMessage(hex(digits), 22);
        assert.fail("decoded");
      } catch (error) {
        assert.ok(error instanceof MoqtError);
        assert.doesNotMatch(error.message, /secret|736563/);
      }
    }
  });
});

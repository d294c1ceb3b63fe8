import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { resetCode, resetName, translateResetCode } from "../../../src/client-group/mod.ts";

describe("error codes between versions", () => {
  for (const [name, http2, http3] of [
    ["REFUSED_STREAM is H3_REQUEST_REJECTED [CG-XVER-2, CG-XVER-4, B04]", 0x7n, 0x10bn],
    ["CANCEL is H3_REQUEST_CANCELLED [CG-XVER-2, CG-XVER-5, CG-S75, B03, B04]", 0x8n, 0x10cn],
    ["INTERNAL_ERROR is H3_INTERNAL_ERROR [CG-XVER-6, B04]", 0x2n, 0x102n],
    ["ENHANCE_YOUR_CALM is H3_EXCESSIVE_LOAD [CG-XVER-7, B04, B05]", 0xbn, 0x107n],
    ["CONNECT_ERROR is H3_CONNECT_ERROR [CG-XVER-8, B04]", 0xan, 0x10fn],
  ] as const) {
    test(`${name}`, () => {
      assert.equal(translateResetCode(http2, "h2", "h3"), http3);
      assert.equal(translateResetCode(http3, "h3", "h2"), http2);
    });
  }

  test("that have no counterpart say that something failed [CG-S74, CG-A18, B04]", () => {
    for (const code of [0x0n, 0x1n, 0x3n, 0x5n, 0xdn, 0xen, 0x10bn, 0xffff_ffffn]) {
      assert.equal(translateResetCode(code, "h2", "h3"), 0x102n);
    }
    for (const code of [0x7n, 0x100n, 0x101n, 0x10dn, 0x10en, 0x110n, 2n ** 62n - 1n]) {
      assert.equal(translateResetCode(code, "h3", "h2"), 0x2n);
    }
  });

  test("pass unchanged within a version [CG-S74]", () => {
    for (const code of [0x0n, 0x1n, 0x7n, 0x8n, 0xffff_ffffn]) {
      assert.equal(translateResetCode(code, "h2", "h2"), code);
      assert.equal(translateResetCode(code + 0x100n, "h3", "h3"), code + 0x100n);
    }
  });

  test("never make anything but a refusal safe to send again [CG-XVER-4, CG-S74]", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 0x200n), (code) => {
        assert.equal(translateResetCode(code, "h2", "h3") === 0x10bn, code === 0x7n);
        assert.equal(translateResetCode(code, "h3", "h2") === 0x7n, code === 0x10bn);
      }),
    );
  });

  test("say an outcome in the version of the connection [CG-XVER-2, CG-S52]", () => {
    assert.equal(resetCode("refused", "h2"), 0x7n);
    assert.equal(resetCode("refused", "h3"), 0x10bn);
    assert.equal(resetCode("cancelled", "h2"), 0x8n);
    assert.equal(resetCode("cancelled", "h3"), 0x10cn);
    assert.equal(resetCode("failed", "h3"), 0x102n);
    assert.equal(resetCode("overloaded", "h2"), 0xbn);
    assert.equal(resetCode("tunnel-failed", "h3"), 0x10fn);
    assert.equal(resetName("refused", "h3"), "H3_REQUEST_REJECTED");
  });
});

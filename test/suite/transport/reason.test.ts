import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { shortReason } from "../../../src/transport/reason.ts";

describe("the reason of a close", () => {
  test("stays as it is up to 1,024 bytes", () => {
    for (const reason of ["", "done", "a".repeat(1024), "ü".repeat(512)]) {
      assert.equal(shortReason(reason), reason);
    }
  });

  test("is cut between characters beyond that", () => {
    assert.equal(shortReason("a".repeat(1025)), "a".repeat(1024));
    assert.equal(shortReason(`a${"ü".repeat(512)}`), `a${"ü".repeat(511)}`);
    assert.equal(shortReason(`ab${"€".repeat(400)}`), `ab${"€".repeat(340)}`);
    assert.equal(utf8(shortReason(`abc${"😀".repeat(300)}`)).length, 3 + 255 * 4);
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { tell, textFrom, textIfAny, whenRejected } from "../../../src/hook.ts";
import { settle } from "../../support/settle.ts";

/** A promise of another maker that is rejected. */
function foreign(error: Error) {
  // biome-ignore lint/suspicious/noThenProperty: this is what such a promise is
  return { then: (_: unknown, rejected: (error: unknown) => void) => rejected(error) };
}

describe("telling a hook", () => {
  test("drops what it throws, now or later", async () => {
    const heard: number[] = [];
    const hooks = [
      () => {
        throw new Error("full");
      },
      () => Promise.reject(new Error("full, later")),
      () => foreign(new Error("full, elsewhere")),
    ];
    for (const answer of hooks) {
      tell((value: number) => {
        heard.push(value);
        return answer();
      }, 7);
    }
    tell(undefined, 7);
    await settle();
    assert.deepEqual(heard, [7, 7, 7]);
  });
});

describe("a promise that a hook answered with", () => {
  test("is listened to where it is rejected, whoever made it", async () => {
    const told: string[] = [];
    const failed = (error: unknown) => told.push((error as Error).message);
    whenRejected(Promise.reject(new Error("ours")), failed);
    whenRejected(foreign(new Error("theirs")), failed);
    whenRejected(Promise.resolve(1), failed);
    for (const plain of [undefined, null, 5, "text", {}]) whenRejected(plain, failed);
    await settle();
    assert.deepEqual(told.toSorted(), ["ours", "theirs"]);
  });

  test("is no text", async () => {
    assert.equal(textFrom("clientOf", "a"), "a");
    assert.equal(textIfAny("tenantOf", undefined), undefined);
    const message = { name: "TypeError", message: "clientOf has to answer with a string" };
    for (const answer of [Promise.reject(new Error("later")), Promise.resolve("a"), null, 5]) {
      assert.throws(() => textFrom("clientOf", answer), message);
      assert.throws(() => textIfAny("clientOf", answer), message);
    }
    assert.throws(() => textFrom("clientOf", undefined), message);
    await settle();
  });
});

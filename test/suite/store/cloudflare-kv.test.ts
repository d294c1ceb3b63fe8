import assert from "node:assert/strict";
import type { KVNamespace } from "@cloudflare/workers-types";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { ConfigurationError } from "../../../src/moq-lb/mod.ts";
import { currentKey, lastKnownGoodKey } from "../../../src/snapshot/mod.ts";
import { cloudflareKvStore } from "../../../src/store/cloudflare-kv.ts";

/** A KV namespace in memory that counts what it is asked for. */
function namespace() {
  const values = new Map<string, ArrayBuffer>();
  const puts: string[] = [];
  const binding = {
    async get(key: string, type: string) {
      assert.equal(type, "arrayBuffer");
      return values.get(key)?.slice(0) ?? null;
    },
    async put(key: string, value: Uint8Array) {
      puts.push(key);
      values.set(key, new Uint8Array(value).buffer);
    },
  };
  return { store: cloudflareKvStore(binding as unknown as KVNamespace), values, puts };
}

describe("a store in Workers KV", () => {
  test("gives back the bytes that were put in", async () => {
    const { store } = namespace();
    assert.equal(await store.get(currentKey), undefined);
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    await store.set?.(currentKey, bytes);
    assert.deepEqual(await store.get(currentKey), bytes);
  });

  test("writes a value once, however many isolates keep the same one", async () => {
    const { store, puts } = namespace();
    await store.set?.(lastKnownGoodKey, utf8("one"));
    await store.set?.(lastKnownGoodKey, utf8("one"));
    assert.deepEqual(puts, [lastKnownGoodKey]);
    await store.set?.(lastKnownGoodKey, utf8("two"));
    await store.set?.(lastKnownGoodKey, utf8("tw"));
    await store.set?.(currentKey, utf8("tw"));
    assert.deepEqual(puts, [lastKnownGoodKey, lastKnownGoodKey, lastKnownGoodKey, currentKey]);
    assert.deepEqual(await store.get(lastKnownGoodKey), utf8("tw"));
  });

  test("needs a binding: without one nothing starts", () => {
    for (const binding of [undefined, null, {}, "SNAPSHOTS"]) {
      assert.throws(() => cloudflareKvStore(binding as unknown as KVNamespace), ConfigurationError);
    }
  });
});

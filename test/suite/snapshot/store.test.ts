import assert from "node:assert/strict";
import { createStorage } from "unstorage";
import { describe, test } from "#test";
import {
  currentKey,
  publishSnapshot,
  SnapshotError,
  storeFromUnstorage,
  versionKey,
} from "../../../src/snapshot/mod.ts";
import { TestStore } from "./fixtures.ts";

const bytes = Uint8Array.of(0xd2, 0x84, 0x00, 0xff);

describe("publishing", () => {
  test("writes the versioned entry before the current one", async () => {
    const store = new TestStore();
    await publishSnapshot(store, bytes, 7);
    assert.deepEqual(store.written, ["moq-lb:snapshot:7", "moq-lb:snapshot:current"]);
    assert.deepEqual(store.items.get(versionKey(7)), bytes);
    assert.deepEqual(store.items.get(currentKey), bytes);
  });

  test("leaves the current entry alone where the versioned one fails", async () => {
    const store = new TestStore();
    store.items.set(currentKey, Uint8Array.of(1));
    store.fails = true;
    await assert.rejects(publishSnapshot(store, bytes, 7));
    assert.deepEqual(store.items.get(currentKey), Uint8Array.of(1));
  });

  test("needs a store that can be written to", async () => {
    await assert.rejects(
      publishSnapshot({ get: async () => undefined }, bytes, 7),
      (error) => error instanceof SnapshotError && error.code === "STORE_FAILED",
    );
  });
});

describe("a store from unstorage", () => {
  test("keeps bytes exactly", async () => {
    const store = storeFromUnstorage(createStorage());
    assert.equal(await store.get(currentKey), undefined);
    await store.set(currentKey, bytes);
    assert.deepEqual(await store.get(currentKey), bytes);
  });

  test("keeps bytes exactly through a driver that knows text alone", async () => {
    const texts = new Map<string, string>();
    const driver = {
      name: "text",
      hasItem: (key: string) => texts.has(key),
      getItem: (key: string) => texts.get(key) ?? null,
      setItem: (key: string, value: string) => {
        texts.set(key, value);
      },
      getKeys: () => [...texts.keys()],
    };
    const store = storeFromUnstorage(createStorage({ driver }));
    await store.set(currentKey, bytes);
    assert.equal(texts.get(currentKey), "base64:0oQA/w==");
    assert.deepEqual(await store.get(currentKey), bytes);
  });

  test("takes bytes in every dress that drivers give them", async () => {
    const padded = Uint8Array.of(9, ...bytes, 9);
    const dresses: unknown[] = [
      bytes,
      bytes.buffer,
      padded.subarray(1, 5),
      new DataView(padded.buffer, 1, 4),
      "base64:0oQA/w==",
      new TextEncoder().encode("base64:0oQA/w=="),
    ];
    for (const value of dresses) {
      const store = storeFromUnstorage({
        getItemRaw: async () => value,
        setItemRaw: async () => {},
      });
      assert.deepEqual(await store.get(currentKey), bytes);
    }
  });

  test("tells its driver how much is wanted, and refuses more where the driver does not", async () => {
    const asked: unknown[] = [];
    const store = storeFromUnstorage({
      async getItemRaw(_, { maximumBytes }) {
        asked.push(maximumBytes);
        return bytes;
      },
      setItemRaw: async () => {},
    });
    assert.deepEqual(await store.get(currentKey, bytes.length), bytes);
    await assert.rejects(
      store.get(currentKey, bytes.length - 1),
      (error) => error instanceof SnapshotError && error.code === "ENVELOPE_TOO_LARGE",
    );
    assert.deepEqual(asked, [4, 3]);
    assert.deepEqual(await store.get(currentKey), bytes);
  });

  test("refuses what is no bytes", async () => {
    for (const value of ["text", "base64:???", 7, {}]) {
      const store = storeFromUnstorage({
        getItemRaw: async () => value,
        setItemRaw: async () => {},
      });
      await assert.rejects(
        store.get(currentKey),
        (error) => error instanceof SnapshotError && error.code === "STORE_FAILED",
      );
    }
  });
});

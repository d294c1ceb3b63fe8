import { describe, expect, test } from "bun:test";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStorage } from "unstorage";
import fsLite from "unstorage/drivers/fs-lite";
import { utf8 } from "../../src/bytes.ts";
import { writeWhole } from "../../src/store/atomic-file.ts";
import { fileStore } from "../../src/store/file.ts";
import { inFolder } from "./cli-harness.ts";

const key = "moq-lb:snapshot:current";

describe("fileStore", () => {
  test("gives back the bytes that were put in, in a folder that the first write makes", () =>
    inFolder(async (folder) => {
      const store = fileStore(join(folder, "a", "b"));
      expect(await store.get(key)).toBeUndefined();
      expect(await store.keys("")).toEqual([]);
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      await store.set(key, bytes);
      expect(await store.get(key)).toEqual(bytes);
      expect(await store.keys("")).toEqual([key]);
      await store.remove(key);
      expect(await store.get(key)).toBeUndefined();
    }));

  test("lies on disk as unstorage's own file driver has it", () =>
    inFolder(async (folder) => {
      await fileStore(folder).set(key, utf8("x"));
      const storage = createStorage({ driver: fsLite({ base: folder }) });
      const item = await storage.getItemRaw<Uint8Array>(key);
      expect(Buffer.from(item ?? []).toString()).toBe("x");
    }));

  test("keeps the item before where a writer died before the rename", () =>
    inFolder(async (folder) => {
      const store = fileStore(folder);
      await store.set(key, utf8("before"));
      await writeFile(join(folder, "moq-lb", "snapshot", ".current.1234.tmp"), "aft");
      expect(await store.get(key)).toEqual(utf8("before"));
      expect(await store.keys("")).toEqual([key]);
      await store.set(key, utf8("after"));
      expect(await store.get(key)).toEqual(utf8("after"));
    }));

  test("never shows a reader a part of an item", () =>
    inFolder(async (folder) => {
      const store = fileStore(folder);
      const item = (fill: number) => new Uint8Array(200_000).fill(fill);
      await store.set(key, item(0));
      let writing = true;
      const writer = (async () => {
        for (let fill = 1; fill <= 20; fill++) await store.set(key, item(fill));
        writing = false;
      })();
      while (writing) {
        const bytes = await store.get(key);
        expect(bytes?.length).toBe(200_000);
        expect(bytes?.at(-1)).toBe(Number(bytes?.[0]));
      }
      await writer;
    }));

  test("leaves no temporary file where a write fails", () =>
    inFolder(async (folder) => {
      // A directory of that name is in the way of the rename.
      const path = join(folder, "item");
      await mkdir(join(path, "in-the-way"), { recursive: true });
      await expect(writeWhole(path, utf8("x"))).rejects.toThrow();
      await writeWhole(path, utf8("x")).catch(() => undefined);
      expect(await readdir(folder)).toEqual(["item"]);
    }));

  test("refuses keys that would leave the folder", () =>
    inFolder(async (folder) => {
      const store = fileStore(join(folder, "store"));
      await writeFile(join(folder, "outside"), "secret");
      for (const bad of [
        "..:outside",
        "../outside",
        "a:..:..:outside",
        "a:.hidden",
        ".",
        "a:b\u0000",
      ]) {
        await expect(store.get(bad)).rejects.toThrow();
        await expect(store.set(bad, utf8("x"))).rejects.toThrow();
      }
      expect(await readFile(join(folder, "outside"), "utf8")).toBe("secret");
    }));

  test("fails where an item cannot be read, instead of taking the error for the item", () =>
    inFolder(async (folder) => {
      const store = fileStore(folder);
      await store.set(key, utf8("x"));
      await rm(join(folder, "moq-lb", "snapshot", "current"));
      await mkdir(join(folder, "moq-lb", "snapshot", "current"));
      await expect(store.get(key)).rejects.toMatchObject({ code: "EISDIR" });
    }));
});

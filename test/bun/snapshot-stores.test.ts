/** Holders over real files: what unstorage's drivers make of them, and of files gone wrong. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage } from "unstorage";
import fsDriver from "unstorage/drivers/fs";
import fsLiteDriver from "unstorage/drivers/fs-lite";
import { toHex } from "../../src/bytes.ts";
import {
  currentKey,
  generateSigningKey,
  lastKnownGoodKey,
  parseSnapshot,
  publishSnapshot,
  type SigningKey,
  SnapshotHolder,
  type SnapshotStore,
  signSnapshot,
  storeFromUnstorage,
  trustSigningKeys,
  versionKey,
} from "../../src/snapshot/mod.ts";

let key: SigningKey;
let root: string;

beforeAll(async () => {
  key = await generateSigningKey();
  root = mkdtempSync(join(tmpdir(), "yardmaster-snapshots-"));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function envelope(version: number): Promise<Uint8Array> {
  const snapshot = parseSnapshot({
    version,
    relays: [{ rid: { hex: "ff00" }, uri: "https://r1.example/moq", health: "healthy" }],
    routes: [{ prefix: [], kind: "static", rid: { hex: "ff00" } }],
  });
  return signSnapshot(snapshot, key, { issuedAt: Date.now() - 5000 });
}

function holderOn(source: SnapshotStore, lastKnownGood: SnapshotStore): SnapshotHolder {
  return new SnapshotHolder({
    source,
    lastKnownGood,
    trustedKeys: trustSigningKeys(key),
    maximumAge: 60_000,
  });
}

const drivers = { fs: fsDriver, "fs-lite": fsLiteDriver };

describe.each(Object.entries(drivers))("over the %s driver", (name, driver) => {
  const directory = () => join(root, name);
  const storeIn = (part: string) =>
    storeFromUnstorage(createStorage({ driver: driver({ base: join(directory(), part) }) }));
  const fileOf = (part: string, storeKey: string) =>
    join(directory(), part, ...storeKey.split(":"));

  test("a published snapshot is found, byte for byte", async () => {
    const bytes = await envelope(1);
    await publishSnapshot(storeIn("source"), bytes, 1);
    expect(toHex(await readFile(fileOf("source", versionKey(1))))).toBe(toHex(bytes));
    const holder = holderOn(storeIn("source"), storeIn("kept"));
    expect((await holder.refresh()).reason).toBe("activated");
    expect(toHex(await readFile(fileOf("kept", lastKnownGoodKey)))).toBe(toHex(bytes));
  });

  test("an empty directory is no snapshot yet", async () => {
    const holder = holderOn(storeIn("empty"), storeIn("empty-kept"));
    expect((await holder.refresh()).reason).toBe("missing");
  });

  test("a half-written, emptied, unreadable or deleted file changes nothing [LB-CONF-21]", async () => {
    const source = storeIn("faulty");
    await publishSnapshot(source, await envelope(5), 5);
    const holder = holderOn(source, storeIn("faulty-kept"));
    await holder.refresh();
    const file = fileOf("faulty", currentKey);

    await writeFile(file, await envelope(6));
    await truncate(file, 150);
    expect((await holder.refresh()).reason).toBe("malformed");
    await truncate(file, 0);
    expect((await holder.refresh()).reason).toMatch(/malformed|missing/);
    await writeFile(file, "plain text");
    expect((await holder.refresh()).reason).toBe("malformed");
    await rm(file);
    expect((await holder.refresh()).reason).toBe("missing");
    await mkdir(file);
    expect((await holder.refresh()).reason).toMatch(/store-error|missing/);
    expect(holder.active?.snapshot.version).toBe(5);

    await rm(file, { recursive: true });
    await publishSnapshot(source, await envelope(6), 6);
    expect((await holder.refresh()).reason).toBe("activated");
  });

  test("the last good one decides after a restart, with its age, and is the floor [LB-CONF-23] [LB-S110] [LB-SEC-8]", async () => {
    const source = storeIn("restarted");
    const kept = storeIn("restarted-kept");
    await publishSnapshot(source, await envelope(9), 9);
    await holderOn(source, kept).refresh();
    await publishSnapshot(source, await envelope(8), 8);
    const next = holderOn(source, kept);
    expect((await next.refresh()).reason).toBe("older-version");
    expect(next.active?.snapshot.version).toBe(9);
    expect(next.status().age).toBeGreaterThanOrEqual(5000);
  });
});

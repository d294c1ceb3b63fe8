import { describe, expect, test } from "bun:test";
import { readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAgent } from "../../src/agent/mod.ts";
import { utf8 } from "../../src/bytes.ts";
import { createSigningKey, homeAt, readSigningKey, readTrustedKeys } from "../../src/cli/home.ts";
import { meetingExample } from "../../src/cli/meeting.ts";
import { ensureDevelopmentHome, publishLocally, republish } from "../../src/cli/publish.ts";
import { currentKey, SnapshotError, verifySnapshot, versionKey } from "../../src/snapshot/mod.ts";
import { inFolder, jsonFile, yard, yardOnDeno } from "./cli-harness.ts";

const now = Date.UTC(2026, 10, 5);

async function homeWithKey(folder: string) {
  const home = homeAt(folder);
  await createSigningKey(home.keys);
  return home;
}

/** The verified snapshot under `key`, as a load balancer with this home's trusted keys sees it. */
async function stored(folder: string, key: string) {
  const home = homeAt(folder);
  const envelope = await home.store.get(key);
  if (envelope === undefined) return undefined;
  return verifySnapshot(envelope, await readTrustedKeys(home.keys), { now: Date.now() });
}

describe("yard publish", () => {
  test("signs into the store and prints version, digest and kid, on Bun and on Deno", () =>
    inFolder(async (cwd) => {
      await yard(["keygen"], { cwd });
      const home = join(cwd, ".yardmaster");
      for (const [version, run] of [
        [7, yard],
        [8, yardOnDeno],
      ] as const) {
        const file = await jsonFile(cwd, "snapshot.json", { ...meetingExample, version });
        const published = await run(["publish", file], { cwd });
        const current = await stored(home, currentKey);
        expect(current?.snapshot.version).toBe(version);
        expect(published).toMatchObject({
          status: 0,
          stdout: `version ${version}\ndigest  ${current?.digest}\nkid     ${current?.kid}\n`,
          stderr: "",
        });
        expect((await stored(home, versionKey(version)))?.digest).toBe(String(current?.digest));
      }
    }));

  test("copies the signed snapshot into a file for a store that is elsewhere", () =>
    inFolder(async (cwd) => {
      await yard(["keygen"], { cwd });
      const file = await jsonFile(cwd, "snapshot.json", { ...meetingExample, version: 3 });
      const copy = join(cwd, "snapshot.cbor");
      expect((await yard(["publish", file, "--out", copy], { cwd })).status).toBe(0);
      const kept = await homeAt(join(cwd, ".yardmaster")).store.get(currentKey);
      expect(kept).toEqual(new Uint8Array(await readFile(copy)));
    }));

  test("refuses a version that is not above the current one [LB-ROT-3] [LB-CONF-2]", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally({ ...meetingExample, version: 9 }, { home, now });
      const before = await stored(folder, currentKey);
      for (const version of [9, 8]) {
        const file = await jsonFile(folder, "snapshot.json", { ...meetingExample, version });
        const run = await yard(["publish", file, "--home", folder]);
        expect(run).toMatchObject({ status: 1, stdout: "" });
        expect(run.stderr).toStartWith(`${file}: version: ${version} is not above 9`);
        expect(run.stderr).toContain("[LB-ROT-3]");
      }
      expect(await stored(folder, currentKey)).toEqual(before);
      expect(await stored(folder, versionKey(8))).toBeUndefined();
    }));

  test("rolls back by publishing the earlier contents as a higher version [LB-ROT-4]", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally(meetingExample, { home, now });
      await publishLocally({ version: 2, relays: [], routes: [] }, { home, now });
      const file = await jsonFile(folder, "before.json", meetingExample);
      const run = await yard(["publish", file, "--next", "--home", folder, "--json"]);
      const current = await stored(folder, currentKey);
      expect(run.status).toBe(0);
      expect(JSON.parse(run.stdout)).toEqual({
        version: 3,
        digest: current?.digest,
        kid: current?.kid,
      });
      expect(current?.snapshot.version).toBe(3);
      expect(current?.snapshot.relays).toHaveLength(3);
    }));

  test("publishes nothing of an invalid snapshot and names every problem [LB-CONF-16]", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally(meetingExample, { home, now });
      const before = await stored(folder, currentKey);
      const relays = [...meetingExample.relays, { rid: "r1", uri: "nowhere", health: "ok" }];
      const file = await jsonFile(folder, "snapshot.json", {
        ...meetingExample,
        version: 2,
        relays,
      });
      const run = await yard(["publish", file, "--home", folder]);
      expect(run).toMatchObject({ status: 1, stdout: "" });
      for (const [path, requirement] of [
        ["relays[3].rid", "LB-CONF-7"],
        ["relays[3].health", "LB-CONF-6"],
      ]) {
        const line = run.stderr.split("\n").find((text) => text.startsWith(`${file}: ${path}: `));
        expect(line).toEndWith(`[${requirement}]`);
      }
      expect(await stored(folder, currentKey)).toEqual(before);
      expect(await stored(folder, versionKey(2))).toBeUndefined();
    }));

  test("says what is missing where there is no key, and leaves nothing behind", () =>
    inFolder(async (folder) => {
      const home = join(folder, "none");
      const file = await jsonFile(folder, "snapshot.json", meetingExample);
      const run = await yard(["publish", file, "--home", home]);
      const missing = join(home, "keys", "trusted.jwks");
      expect(run).toMatchObject({ status: 1, stdout: "" });
      expect(run.stderr).toBe(`${missing}: no such file; yard keygen creates it\n`);
      await expect(readFile(home)).rejects.toMatchObject({ code: "ENOENT" });
    }));
});

describe("publishLocally", () => {
  test("takes JSON text, and reports problems as a SnapshotError", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      const published = await publishLocally(JSON.stringify(meetingExample), { home, now });
      expect(published.version).toBe(1);
      const error = await publishLocally('{"version": 2}', { home, now }).catch((fault) => fault);
      expect(error).toBeInstanceOf(SnapshotError);
      expect(error.problems.length).toBeGreaterThan(0);
    }));

  test("gives each of many publishers at once a version of its own", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      const all = Array.from({ length: 8 }, () =>
        publishLocally(meetingExample, { home, now, next: true }),
      );
      const versions = (await Promise.all(all)).map(({ version }) => version);
      expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect((await stored(folder, currentKey))?.snapshot.version).toBe(8);
    }));

  test("goes on from a lock that a dead process left, and from an unfinished publication", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await writeFile(home.lock, "");
      await utimes(home.lock, new Date(0), new Date(0));
      // Died after the version was written and before it became the current one.
      await home.store.set(versionKey(1), utf8("half"));
      const published = await publishLocally(meetingExample, { home, now });
      expect(published.version).toBe(1);
      expect((await stored(folder, versionKey(1)))?.digest).toBe(published.digest);
    }));

  test("repairs a store whose current item is garbage, above every version of the history", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally({ ...meetingExample, version: 5 }, { home, now });
      await home.store.set(currentKey, utf8("garbage"));
      const low = publishLocally({ ...meetingExample, version: 5 }, { home, now });
      await expect(low).rejects.toThrow("[LB-ROT-3]");
      const published = await publishLocally({ ...meetingExample, version: 6 }, { home, now });
      expect(published.replaced).toContain("MALFORMED_ENVELOPE");
      expect((await stored(folder, currentKey))?.snapshot.version).toBe(6);
    }));

  test("leaves a store alone from which an agent publishes, and names the agent [LB-SEC-9]", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      const agent = createAgent({
        agentId: "agent-7",
        url: "https://agent.example",
        store: home.store,
        signingKey: await readSigningKey(home.keys),
        trustedKeys: await readTrustedKeys(home.keys),
        maximumAge: 60_000,
        leaseTtl: 1000,
        operators: new Map(),
        operatorSignatures: new Set(),
      });
      await agent.start();
      try {
        const refused = publishLocally(meetingExample, { home, now });
        await expect(refused).rejects.toThrow("agent-7 at https://agent.example publishes");
        expect(await home.store.get(currentKey)).toBeUndefined();
      } finally {
        await agent.stop();
      }
      expect((await publishLocally(meetingExample, { home, now })).version).toBe(1);
    }));

  test("does not publish with a key that load balancers would not trust [LB-SEC-5]", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      const other = homeAt(join(folder, "other"));
      await createSigningKey(other.keys);
      await writeFile(home.keys.signing, await readFile(other.keys.signing));
      const refused = publishLocally(meetingExample, { home, now });
      await expect(refused).rejects.toThrow("this key is not among");
      expect(await home.store.get(currentKey)).toBeUndefined();
    }));

  test("counts the version of a current snapshot that was signed in the future", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally(meetingExample, { home, now: now + 86_400_000 });
      const { version } = await publishLocally(meetingExample, { home, now, next: true });
      expect(version).toBe(2);
    }));
});

describe("republish", () => {
  test("signs the same contents again as the next version, with the time of now", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally(meetingExample, { home, now });
      const { version } = await republish({ home, now: now + 60_000 });
      const [first, second] = [
        await stored(folder, versionKey(1)),
        await stored(folder, currentKey),
      ];
      expect(version).toBe(2);
      expect(second?.signedAt).toBe(now + 60_000);
      expect(second?.snapshot).toEqual({ ...first?.snapshot, version: 2 } as never);
    }));

  test("keeps every content in the history, and only the latest of its repetitions", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await publishLocally(meetingExample, { home, now });
      for (let i = 0; i < 3; i++) await republish({ home, now });
      await publishLocally({ version: 5, relays: [], routes: [] }, { home, now });
      for (let i = 0; i < 2; i++) await republish({ home, now });
      const versions = (await home.store.keys("moq-lb:snapshot:"))
        .map((key) => key.split(":").at(-1))
        .sort();
      expect(versions).toEqual(["1", "4", "5", "7", "current"]);
    }));

  test("refuses where there is nothing to vouch for", () =>
    inFolder(async (folder) => {
      const home = await homeWithKey(folder);
      await expect(republish({ home, now })).rejects.toThrow("the store has no snapshot");
      await home.store.set(currentKey, utf8("garbage"));
      await expect(republish({ home, now })).rejects.toThrow("MALFORMED_ENVELOPE");
    }));
});

describe("ensureDevelopmentHome", () => {
  test("makes a key and publishes the meeting example, then keeps what is there and freshens it", () =>
    inFolder(async (folder) => {
      const home = homeAt(folder);
      const first = await ensureDevelopmentHome({ home, now });
      expect(first).toMatchObject({ createdKey: true, contents: "example" });
      expect(first.published.version).toBe(1);
      await publishLocally({ version: 4, relays: [], routes: [] }, { home, now });
      const second = await ensureDevelopmentHome({ home, now: now + 1000 });
      expect(second).toMatchObject({ createdKey: false, contents: "kept" });
      expect(second.published.version).toBe(5);
      const current = await stored(folder, currentKey);
      expect(current?.snapshot.relays).toEqual([]);
      expect(current?.signedAt).toBe(now + 1000);
    }));

  test("puts the example in place of a snapshot that no trusted key vouches for", () =>
    inFolder(async (folder) => {
      const home = homeAt(folder);
      await ensureDevelopmentHome({ home, now });
      await createSigningKey(home.keys, "replace");
      const again = await ensureDevelopmentHome({ home, now });
      expect(again).toMatchObject({ createdKey: false, contents: "example" });
      expect(again.published.version).toBe(2);
      expect(again.published.replaced).toContain("UNTRUSTED_KEY");
      expect((await stored(folder, currentKey))?.snapshot.version).toBe(2);
    }));
});

import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSigningKey, homeAt } from "../../src/cli/home.ts";
import { meetingExample } from "../../src/cli/meeting.ts";
import { publishLocally } from "../../src/cli/publish.ts";
import { currentKey } from "../../src/snapshot/mod.ts";
import { inFolder, jsonFile, yard, yardOnDeno } from "./cli-harness.ts";

/** Digests of the reference vectors for the hash key (example.com, m1). */
const digests = {
  r1: "d73b4d2fede53ae86497f2256155640ddcbf89c8f01b93ae8b1a80ff4d928852",
  r2: "eace5c9eba47ae1200c222c75366d339354d5a6d70517b7cf19d877769c376fd",
  r3: "3ba64b52a2a3defb4404e1bba76fb0edddfa37f82f8eefcd14188f6404b6fbc3",
};

const relay = (rid: string, health = "healthy") => ({
  rid,
  uri: `https://${rid.toLowerCase()}.example/moq`,
  health,
});

describe("yard route", () => {
  test("ranks the relays of the meeting example from the local store: r2, r1, r3 [LB-EX-5]", () =>
    inFolder(async (folder) => {
      const home = homeAt(folder);
      await createSigningKey(home.keys);
      const now = Math.floor(Date.now() / 1000) * 1000;
      const { version, digest } = await publishLocally(meetingExample, { home, now });
      const env = { YARDMASTER_HOME: folder };
      const [text, json, onDeno] = await Promise.all([
        yard(["route", "example.2ecom-m1-alice"], { env }),
        yard(["route", "example.2ecom-m1-alice", "--json"], { env }),
        yardOnDeno(["route", "example.2ecom-m1-alice", "--json"], { env }),
      ]);
      expect(text).toMatchObject({ status: 0, stderr: "" });
      expect(text.stdout).toBe(
        [
          "namespace  example.2ecom-m1-alice",
          `snapshot   version 1 of ${folder}, signed ${new Date(now).toISOString()}`,
          "route      prefix example.2ecom, hashed, HRW-SHA256, key_fields 2",
          "hash key   example.2ecom-m1",
          "relay      r2 at https://r2.example/moq",
          "",
          "RANK  RELAY  WEIGHT  HASH                 URI",
          "1     r2     1       eace5c9eba47ae12...  https://r2.example/moq",
          "2     r1     1       d73b4d2fede53ae8...  https://r1.example/moq",
          "3     r3     1       3ba64b52a2a3defb...  https://r3.example/moq",
          "",
        ].join("\n"),
      );
      const candidate = (rid: keyof typeof digests) => {
        return { ...relay(rid), weight: 1, hash: digests[rid] };
      };
      expect(json.status).toBe(0);
      expect(JSON.parse(json.stdout)).toEqual({
        namespace: "example.2ecom-m1-alice",
        snapshot: { source: folder, version, signedAt: new Date(now).toISOString(), digest },
        route: { prefix: "example.2ecom", kind: "hashed", profile: "HRW-SHA256", key_fields: 2 },
        hashKey: "example.2ecom-m1",
        selected: relay("r2"),
        rejection: null,
        ranking: [candidate("r2"), candidate("r1"), candidate("r3")],
        excluded: [],
      });
      expect(onDeno.stdout).toBe(json.stdout);
    }));

  test("places the draft's two flows over R1 and R2 [LB-EX-1] [LB-EX-2]", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", {
        version: 1,
        relays: [relay("R1"), relay("R2")],
        routes: [{ prefix: ["live"], kind: "hashed", rids: ["R1", "R2"] }],
      });
      const [game, channel] = await Promise.all([
        yard(["route", "live-sports-game.2d7", "--snapshot", file, "--json"]),
        yard(["route", "live-news-ch.2d2", "--snapshot", file, "--json"]),
      ]);
      expect(JSON.parse(game.stdout).selected).toEqual(relay("R2"));
      expect(JSON.parse(channel.stdout).selected).toEqual(relay("R1"));
    }));

  test("tells why each of the others is excluded", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", {
        version: 3,
        relays: [
          relay("r1"),
          relay("r2", "draining"),
          relay("r3", "unhealthy"),
          { ...relay("r4", "draining"), rid: { hex: "ff00" } },
        ],
        routes: [
          {
            prefix: [],
            kind: "hashed",
            profile: "HRW-SHA256-64",
            rids: ["r1", "r2", { rid: "r3", weight: 2 }, { rid: { hex: "ff00" }, weight: 0 }],
          },
        ],
      });
      const [text, json] = await Promise.all([
        yard(["route", "example.2ecom-m1", "--snapshot", file]),
        yard(["route", "example.2ecom-m1", "--snapshot", file, "--json"]),
      ]);
      expect(text.stdout).toContain(`version 3 of ${file}\n`);
      expect(text.stdout).toContain("prefix (empty), hashed, HRW-SHA256-64\n");
      expect(text.stdout).toContain(
        "1     r1     1       d73b4d2fede53ae8  https://r1.example/moq\n",
      );
      expect(text.stdout).toEndWith(
        [
          "EXCLUDED  WEIGHT  WHY",
          "r2        1       draining",
          "r3        2       unhealthy",
          "h'ff00'   0       weight 0, draining",
          "",
        ].join("\n"),
      );
      expect(JSON.parse(json.stdout)).toMatchObject({
        snapshot: { source: file, version: 3, signedAt: null, digest: null },
        route: { prefix: "", key_fields: null },
        excluded: [
          { rid: "r2", weight: 1, reasons: ["draining"] },
          { rid: "r3", weight: 2, reasons: ["unhealthy"] },
          { rid: { hex: "ff00" }, weight: 0, reasons: ["weight-zero", "draining"] },
        ],
      });
    }));

  test("tells where no relay is found, and what requests get then", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", {
        version: 1,
        relays: [relay("r1", "unhealthy")],
        routes: [{ prefix: ["a"], kind: "static", rid: "r1" }],
      });
      const [dead, none, reserved, empty] = await Promise.all([
        yard(["route", "a-b", "--snapshot", file]),
        yard(["route", "b", "--snapshot", file]),
        yard(["route", ".2esession-x", "--snapshot", file, "--json"]),
        yard(["route", "", "--snapshot", file, "--json"]),
      ]);
      expect(dead.status).toBe(0);
      expect(dead.stdout).toMatch(/^route +prefix a, static$/m);
      expect(dead.stdout).toMatch(/^relay +none: .*INTERNAL_ERROR/m);
      expect(dead.stdout).toEndWith("EXCLUDED  WEIGHT  WHY\nr1        -       unhealthy\n");
      expect(none.status).toBe(0);
      expect(none.stdout).toMatch(/^relay +none: .*DOES_NOT_EXIST.*UNINTERESTED/m);
      expect(JSON.parse(reserved.stdout)).toMatchObject({
        rejection: "reserved-namespace",
        selected: null,
        route: null,
      });
      expect(JSON.parse(empty.stdout)).toMatchObject({ namespace: "", rejection: "no-route" });
    }));

  test("takes a full name and says that the Track Name does not count", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", meetingExample);
      const [full, bare] = await Promise.all([
        yard(["route", "example.2ecom-m1--video", "--snapshot", file]),
        yard(["route", "example.2ecom-m1", "--snapshot", file]),
      ]);
      expect(full.status).toBe(0);
      expect(full.stdout).toBe(bare.stdout);
      expect(full.stderr).toContain("note: the Track Name is left aside");
    }));

  test("says how a namespace has to be written", async () => {
    const run = await yard(["route", "example.com/m1"]);
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expect(run.stderr).toContain("(at character 7)");
    expect(run.stderr).toContain("perhaps you mean: example.2ecom-m1\n");
  });

  test("uses no snapshot of the store that a trusted key does not vouch for [LB-SEC-5]", () =>
    inFolder(async (folder) => {
      const [home, other] = [homeAt(join(folder, "own")), homeAt(join(folder, "other"))];
      for (const { keys } of [home, other]) await createSigningKey(keys);
      const args = ["route", "example.2ecom-m1", "--home", home.directory];
      const empty = await yard(args);
      expect(empty).toMatchObject({ status: 1, stdout: "" });
      expect(empty.stderr).toStartWith(`${home.directory}: the store has no snapshot`);
      await publishLocally(meetingExample, { home: other, now: Date.now() });
      await home.store.set(currentKey, (await other.store.get(currentKey)) as Uint8Array);
      const forged = await yard(args);
      expect(forged).toMatchObject({ status: 1, stdout: "" });
      expect(forged.stderr).toContain("(UNTRUSTED_KEY)");
      await writeFile(home.keys.trusted, await readFile(other.keys.trusted));
      expect((await yard(args)).status).toBe(0);
    }));

  test("names the problems of a snapshot file, and a file that is not there", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", { ...meetingExample, relays: [] });
      const [invalid, absent] = await Promise.all([
        yard(["route", "a", "--snapshot", file]),
        yard(["route", "a", "--snapshot", `${file}.no`]),
      ]);
      expect(invalid).toMatchObject({ status: 1, stdout: "" });
      expect(invalid.stderr).toContain(`${file}: routes[0].rids[0]: `);
      expect(invalid.stderr).toContain("[LB-CONF-9]");
      expect(absent).toMatchObject({ status: 1, stdout: "", stderr: `${file}.no: no such file\n` });
    }));
});

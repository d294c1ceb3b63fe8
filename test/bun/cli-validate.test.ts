import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { meetingExample } from "../../src/cli/meeting.ts";
import { inFolder, jsonFile, yard, yardOnDeno } from "./cli-harness.ts";

const relays = [
  { rid: "r1", uri: "https://r1.example/moq", health: "healthy" },
  { rid: "r2", uri: "https://r2.example/moq", health: "draining" },
];

describe("yard validate", () => {
  test("sums a valid snapshot up in one line", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", { ...meetingExample, version: 7 });
      const run = await yard(["validate", file]);
      const stdout = `${file}: valid, version 7, 3 relays, 1 route\n`;
      expect(run).toMatchObject({ status: 0, stdout, stderr: "" });
    }));

  test("takes a pool without a version, with probes and the schema that editors use", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "pool.json", {
        $schema: "./pool.schema.json",
        relays: [{ rid: "r1", uri: "https://r1.example/moq", probe: "none" }],
        routes: [],
      });
      const valid = await yard(["validate", file]);
      const stdout = `${file}: valid, 1 relay, 0 routes\n`;
      expect(valid).toMatchObject({ status: 0, stdout, stderr: "" });
      const routed = await yard(["route", "a", "--snapshot", file]);
      expect(routed.stdout).toContain(`snapshot   ${file}\n`);
      const json = JSON.parse((await yard(["route", "a", "--snapshot", file, "--json"])).stdout);
      expect(json.snapshot.version).toBeNull();
    }));

  test("names every key that a pool's relay may have, where one is unknown", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "pool.json", {
        relays: [{ rid: "r1", uri: "https://r1.example/moq", prob: "none" }],
        routes: [],
      });
      const { stderr } = await yard(["validate", file]);
      expect(stderr).toBe(
        `${file}: relays[0].prob: unknown key; expected only rid, uri, health, attributes, probe [${"LB-S12"}]\n`,
      );
    }));

  test("lists every problem with file, path and requirement, the last route's too [LB-CONF-14]", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", {
        version: 7,
        relays,
        routes: [
          { prefix: ["a"], kind: "hashed", rids: [{ rid: "r1", weight: 17 }, "r2"] },
          { prefix: ["b"], kind: "geo" },
          { prefix: ["c"], kind: "static", rid: "r9" },
        ],
      });
      for (const run of await Promise.all([
        yard(["validate", file]),
        yardOnDeno(["validate", file]),
      ])) {
        expect(run).toMatchObject({ status: 1, stdout: "" });
        const lines = run.stderr.trimEnd().split("\n");
        expect(lines).toHaveLength(3);
        expect(lines[0]).toStartWith(`${file}: routes[0].rids[0].weight: `);
        expect(lines[0]).toEndWith(" [LB-HASHED-12]");
        expect(lines[1]).toStartWith(`${file}: routes[1].kind: `);
        expect(lines[1]).toEndWith(" [LB-TABLE-8]");
        expect(lines[2]).toStartWith(`${file}: routes[2].rid: `);
        expect(lines[2]).toEndWith(" [LB-CONF-9]");
      }
    }));

  test("warns about what is valid and hardly meant, and stays with status 0", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", {
        version: 1,
        relays,
        routes: [{ prefix: [], kind: "static", rid: "r2" }],
      });
      const run = await yard(["validate", file]);
      expect(run.status).toBe(0);
      expect(run.stdout).toBe(`${file}: valid, version 1, 2 relays, 1 route\n`);
      expect(run.stderr).toMatch(
        /^warning: .*snapshot\.json: routes\[0\]\.rid: .* \[LB-STATIC-2\]\n$/,
      );
    }));

  test("prints problems and warnings as JSON, with the same status", async () => {
    const stdin = JSON.stringify({ version: 1, relays, routes: [{ prefix: [], kind: "geo" }] });
    const run = await yard(["validate", "-", "--json"], { stdin });
    expect(run).toMatchObject({ status: 1, stderr: "" });
    expect(JSON.parse(run.stdout)).toEqual({
      file: "standard input",
      valid: false,
      problems: [
        { path: "routes[0].kind", requirement: "LB-TABLE-8", message: expect.any(String) },
      ],
      warnings: [],
    });
  });

  test("reads the notation of the draft from a .diag file", () =>
    inFolder(async (folder) => {
      const file = join(folder, "table.diag");
      const relay = `{"rid": h'ff00', "uri": "https://r1.example/moq", "health": "healthy"}`;
      const route = `{"prefix": ['live'], "kind": "static", "rid": h'ff00'}`;
      await writeFile(file, `{"version": 3, "relays": [${relay}], "routes": [${route}]}`);
      const run = await yard(["validate", file]);
      expect(run).toMatchObject({
        status: 0,
        stdout: `${file}: valid, version 3, 1 relay, 1 route\n`,
      });
    }));

  test("tells in one line why a file cannot be read, or where it stops being JSON", () =>
    inFolder(async (folder) => {
      const broken = join(folder, "broken.json");
      await writeFile(broken, '{ "version": 7,\n  "relays": [ }\n');
      const latin1 = join(folder, "latin1.json");
      await writeFile(latin1, new Uint8Array([0x22, 0xe9, 0x22]));
      const bom = join(folder, "bom.json");
      await writeFile(bom, `\ufeff${JSON.stringify(meetingExample)}`);
      const [absent, directory, json, text, marked] = await Promise.all([
        yard(["validate", join(folder, "absent.json")]),
        yard(["validate", folder]),
        yard(["validate", broken]),
        yard(["validate", latin1]),
        yard(["validate", bom]),
      ]);
      expect(absent.stderr).toBe(`${join(folder, "absent.json")}: no such file\n`);
      expect(directory.stderr).toBe(`${folder}: is a directory, not a file\n`);
      expect(json.stderr).toMatch(/broken\.json: .*line 2, column 15.*\n$/);
      expect(text.stderr).toBe(`${latin1}: not UTF-8 text\n`);
      for (const run of [absent, directory, json, text]) {
        expect(run).toMatchObject({ status: 1, stdout: "" });
        expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
      }
      expect(marked.status).toBe(0);
    }));
});

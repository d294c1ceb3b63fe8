import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Simulation } from "../../src/agent/simulate.ts";
import { utf8 } from "../../src/bytes.ts";
import { simulationLines } from "../../src/cli/simulation.ts";
import { styleFor } from "../../src/cli/terminal.ts";
import { inFolder, jsonFile, yard, yardOnDeno } from "./cli-harness.ts";
import { root } from "./processes.ts";

const relay = (rid: string) => ({ rid, uri: `https://${rid}.example/moq` });

function pool(rids: readonly (string | { rid: string; weight: number })[], names: string[]) {
  return {
    relays: names.map(relay),
    routes: [{ prefix: ["a"], kind: "hashed", key_fields: 2, rids }],
  };
}

describe("yard simulate", () => {
  test("tells which share each relay gets and what moves, to the new relay alone [LB-RESIZE-2]", () =>
    inFolder(async (cwd) => {
      await jsonFile(cwd, "two.json", pool(["r1", "r2"], ["r1", "r2"]));
      await jsonFile(cwd, "three.json", pool(["r1", "r2", "r3"], ["r1", "r2", "r3"]));
      const args = ["simulate", "--from", "two.json", "--to", "three.json", "--keys", "30000"];
      const [onBun, onDeno] = await Promise.all([yard(args, { cwd }), yardOnDeno(args, { cwd })]);
      expect(onBun).toMatchObject({ status: 0, stderr: "" });
      expect(onDeno.stdout).toBe(onBun.stdout);
      const lines = onBun.stdout.split("\n");
      expect(lines[0]).toBe("30000 keys, from two.json to three.json");
      expect(lines[2]).toBe("RELAY  BEFORE  EXPECTED  AFTER   EXPECTED");
      const shares = lines.slice(3, 6).map((line) => line.split(/ {2,}/));
      expect(shares.map(([rid, , before, , after]) => [rid, before, after])).toEqual([
        ["r1", "50.0 %", "33.3 %"],
        ["r2", "50.0 %", "33.3 %"],
        ["r3", "0.0 %", "33.3 %"],
      ]);
      // A third of the keys moves, and only there; within five standard deviations.
      const { moved, moves, keys } = JSON.parse((await yard([...args, "--json"], { cwd })).stdout);
      expect(keys).toBe(30_000);
      expect(Math.abs(moved - 10_000)).toBeLessThan(5 * Math.sqrt((30_000 * 2) / 9));
      expect(moves.map(({ to }: { to: string }) => to)).toEqual(["7233", "7233"]);
      expect(lines).toContain(
        `moved: ${moved} of 30000 keys, ${((moved / 30_000) * 100).toFixed(1)} %`,
      );
    }));

  test("places the namespaces of a file, to the letter", () =>
    inFolder(async (cwd) => {
      await jsonFile(cwd, "from.json", pool(["r1"], ["r1", "relay-2"]));
      await jsonFile(
        cwd,
        "to.json",
        pool([{ rid: "r1", weight: 0 }, "relay-2"], ["r1", "relay-2"]),
      );
      await writeFile(join(cwd, "names"), "# live\na-m1\n\na-m2-x--video\r\nb-other\n");
      const args = ["simulate", "--from", "from.json", "--to", "to.json", "--namespaces", "names"];
      expect(await yard(args, { cwd })).toMatchObject({
        status: 0,
        stderr: "",
        stdout: `3 keys, from from.json to to.json

RELAY      BEFORE  EXPECTED  AFTER   EXPECTED
r1         66.7 %  66.7 %    0.0 %   0.0 %
relay.2d2  0.0 %   0.0 %     66.7 %  66.7 %

moved: 2 of 3 keys, 66.7 %
no relay: 1 key before (33.3 %), 1 after (33.3 %)

FROM  TO         KEYS  SHARE
r1    relay.2d2  2     66.7 %
`,
      });
      const json = JSON.parse((await yard([...args, "--json"], { cwd })).stdout);
      expect(json).toEqual({
        from: "from.json",
        to: "to.json",
        keys: 3,
        moved: 2,
        unplaced: { before: 1, after: 1 },
        relays: [
          { rid: "7231", name: "r1", before: 2, after: 0, expectedBefore: 2, expectedAfter: 0 },
          {
            rid: "72656c61792d32",
            name: "relay.2d2",
            before: 0,
            after: 2,
            expectedBefore: 0,
            expectedAfter: 2,
          },
        ],
        moves: [{ from: "7231", to: "72656c61792d32", keys: 2 }],
      });
    }));

  test("says what is wrong with its options and files", () =>
    inFolder(async (cwd) => {
      await jsonFile(cwd, "a.json", pool(["r1"], ["r1"]));
      await writeFile(join(cwd, "wrong"), "a-m1\na--\nexample.com-m1\n");
      await writeFile(join(cwd, "empty"), "# nothing\n");
      const from = ["simulate", "--from", "a.json"];
      const both = [...from, "--to", "a.json"];
      for (const [status, line, args] of [
        [2, "yard simulate: option --to is missing: what shall it become?", from],
        [
          2,
          "yard simulate: --keys and --namespaces exclude each other",
          [...both, "--keys", "1", "--namespaces", "empty"],
        ],
        [
          2,
          "yard simulate: option --keys has to be an integer from 1 to 2147483647",
          [...both, "--keys", "0"],
        ],
        [1, "empty: there is no namespace", [...both, "--namespaces", "empty"]],
        [1, 'wrong:3: name "example.com-m1": ', [...both, "--namespaces", "wrong"]],
        [1, "b.json: no such file", [...from, "--to", "b.json"]],
        [
          1,
          ".yardmaster/keys/trusted.jwks: no such file; yard keygen creates it",
          [...from, "--to", "7"],
        ],
      ] as const) {
        const run = await yard(args, { cwd });
        expect(run).toMatchObject({ status, stdout: "" });
        expect(run.stderr).toStartWith(line);
      }
    }));

  test("draws shares against weights, and moves from the largest on", () => {
    const simulation: Simulation = {
      keys: 100,
      relays: [
        { rid: utf8("r1"), before: 60, after: 24, expectedBefore: 50, expectedAfter: 25 },
        { rid: utf8("r2"), before: 40, after: 48, expectedBefore: 50, expectedAfter: 50 },
        { rid: utf8("r3"), before: 0, after: 28, expectedBefore: 0, expectedAfter: 25 },
      ],
      moved: 36,
      moves: [
        { from: utf8("r1"), to: utf8("r3"), keys: 28 },
        { from: utf8("r1"), to: utf8("r2"), keys: 8 },
      ],
      unplaced: { before: 0, after: 0 },
    };
    const plain = styleFor(false, {});
    const change = { from: "version 7", to: "version 8" };
    expect(simulationLines(simulation, change, plain, true).join("\n")).toBe(
      `100 keys, from version 7 to version 8

RELAY  BEFORE  EXPECTED  AFTER   EXPECTED
r1     60.0 %  50.0 %    24.0 %  25.0 %    ###########|
r2     40.0 %  50.0 %    48.0 %  50.0 %    #######################|
r3     0.0 %   0.0 %     28.0 %  25.0 %    ###########|#

moved: 36 of 100 keys, 36.0 %

FROM  TO  KEYS  SHARE
r1    r3  28    28.0 %
r1    r2  8     8.00 %`,
    );
  });

  test("has colours, drawn shares and a progress bar on a terminal alone", () =>
    inFolder(async (cwd) => {
      const rids = Array.from({ length: 60 }, (_, i) => `r${i}`);
      const file = await jsonFile(cwd, "pool.json", pool(rids, rids));
      const entry = join(root, "src", "cli", "yard.ts");
      const args = ["simulate", "--from", file, "--to", file, "--keys", "20000"];
      const { NO_COLOR, TERM, ...env } = process.env;
      let output = "";
      const child = Bun.spawn([process.execPath, entry, ...args], {
        cwd,
        env: { ...env, TERM: "xterm" },
        terminal: {
          cols: 120,
          rows: 40,
          data: (_, bytes) => {
            output += new TextDecoder().decode(bytes);
          },
        },
      });
      expect(await child.exited).toBe(0);
      expect(output).toContain("of 20000 keys,");
      expect(output).toContain("\u001b[2mRELAY");
      expect(output).toContain("\u001b[32m###");
      const piped = await yard(args, { cwd, env: { TERM: "xterm" } });
      expect(piped).toMatchObject({ status: 0, stderr: "" });
      for (const mark of ["\u001b", "#"]) expect(piped.stdout).not.toContain(mark);
    }));
});

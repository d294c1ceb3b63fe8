import { describe, expect, test } from "bun:test";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readAgentConfig } from "../../src/agent/config.ts";
import { homeAt } from "../../src/cli/home.ts";
import { readHomeOperators } from "../../src/cli/people.ts";
import { inFolder, yard, yardOnDeno } from "./cli-harness.ts";

async function json(...path: string[]) {
  return JSON.parse(await readFile(join(...path), "utf8"));
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe("yard keygen --operator", () => {
  for (const [runtime, run] of [
    ["Bun", yard],
    ["Deno", yardOnDeno],
  ] as const) {
    test(`makes a key for its owner alone and prints the list's entry, on ${runtime}`, () =>
      inFolder(async (folder) => {
        const made = await run(["keygen", "--operator", "Ada L.", "--home", folder]);
        const file = join(folder, "keys", "operator.jwk");
        const { d, ...key } = await json(file);
        expect(made.status).toBe(0);
        expect(JSON.parse(made.stdout)).toEqual({ name: "Ada L.", roles: ["routes"], key });
        expect(made.stdout + made.stderr).not.toContain(d);
        expect(made.stderr).toBe(
          `key: ${file} (private: keep it secret)\nentry, which ${join(folder, "operators.json")} has now:\n`,
        );
        expect(await json(folder, "operators.json")).toEqual([JSON.parse(made.stdout)]);
        expect(await mode(file)).toBe(0o600);
        expect(await mode(join(folder, "keys"))).toBe(0o700);
      }));
  }

  test("makes lists that an agent's configuration takes as they are", () =>
    inFolder(async (folder) => {
      for (const args of [
        [],
        ["--operator", "ada", "--role", "pool"],
        ["--instance", "edge-1"],
        ["--instance", "edge-2"],
      ]) {
        expect((await yard(["keygen", ...args, "--home", folder])).status).toBe(0);
      }
      const file = join(folder, "agent.json");
      await writeFile(
        file,
        JSON.stringify({
          agentId: "a",
          store: "file:store",
          signingKey: "keys/signing.jwk",
          trustedKeys: "keys/trusted.jwks",
          pool: "pool.json",
          maximumAge: 900,
          operators: "operators.json",
          instances: "instances.json",
        }),
      );
      const { operators, instances } = await readAgentConfig(file);
      expect([...operators.values()]).toMatchObject([{ name: "ada", roles: ["pool"] }]);
      expect([...instances.keys()]).toEqual(["edge-1", "edge-2"]);
    }));

  test("keeps a key unless told to, and puts a new one in the place of the former", () =>
    inFolder(async (folder) => {
      const args = ["keygen", "--operator", "ada", "--home", folder];
      await yard(args);
      const first = await json(folder, "operators.json");
      await writeFile(
        join(folder, "operators.json"),
        JSON.stringify([{ ...first[0], name: "bob" }, ...first]),
      );
      const again = await yard(args);
      expect(again).toMatchObject({ status: 1, stdout: "" });
      expect(again.stderr).toBe(
        `${join(folder, "keys", "operator.jwk")}: there is a key already; --rotate makes another in its place\n`,
      );
      await yard([...args, "--rotate"]);
      const second = await json(folder, "operators.json");
      expect(second.map(({ name }: { name: string }) => name)).toEqual(["bob", "ada"]);
      expect(second[1].key.kid).not.toBe(first[0].key.kid);
      const operators = await readHomeOperators(homeAt(folder));
      expect([...operators.keys()]).toEqual([first[0].key.kid, second[1].key.kid]);
    }));

  test("touches no list with --out, and none that is broken", () =>
    inFolder(async (folder) => {
      const out = join(folder, "out");
      const run = await yard(["keygen", "--operator", "ada", "--out", out], { cwd: folder });
      expect(run.stderr).toEndWith("entry for the agent's list:\n");
      expect(await mode(join(out, "operator.jwk"))).toBe(0o600);
      await expect(stat(join(folder, ".yardmaster"))).rejects.toMatchObject({ code: "ENOENT" });
      await writeFile(join(folder, "operators.json"), '{"operators": []}');
      const broken = await yard(["keygen", "--operator", "ada", "--home", folder]);
      expect(broken).toMatchObject({ status: 1, stdout: "" });
      expect(broken.stderr).toBe(
        `${join(folder, "operators.json")}: expected a list of {name, roles, key}\n`,
      );
      await expect(stat(join(folder, "keys", "operator.jwk"))).rejects.toMatchObject({
        code: "ENOENT",
      });
    }));

  test("refuses names, roles and identifiers that an agent would refuse", async () => {
    for (const [line, ...args] of [
      ["option --operator has to be 1 to 64 characters", "--operator", "x".repeat(65)],
      ["option --role has to be one of view, pool, routes", "--operator", "a", "--role", "root"],
      ["--role goes with --operator", "--role", "pool"],
      ["--operator and --instance exclude each other", "--operator", "a", "--instance", "b"],
      [
        "option --instance has to be 1 to 64 letters, digits, '.', '_' and '-'",
        "--instance",
        "../b",
      ],
    ] as const) {
      const run = await yard(["keygen", ...args]);
      expect(run).toMatchObject({ status: 2, stdout: "" });
      expect(run.stderr).toStartWith(`yard keygen: ${line}\n`);
    }
  });
});

describe("yard keygen --instance", () => {
  test("makes a key whose kid is the instance's ID, and replaces the entry with the key", () =>
    inFolder(async (folder) => {
      const args = ["keygen", "--instance", "edge-1", "--home", folder];
      const made = await yard(args);
      const file = join(folder, "keys", "instance-edge-1.jwk");
      const { d, ...key } = await json(file);
      expect(key.kid).toBe("edge-1");
      expect(made.stdout + made.stderr).not.toContain(d);
      expect(JSON.parse(made.stdout)).toEqual(key);
      expect(await json(folder, "instances.json")).toEqual({ keys: [key] });
      expect(await mode(file)).toBe(0o600);
      expect((await yard(args)).status).toBe(1);
      expect((await yard([...args, "--rotate"])).status).toBe(0);
      const { keys } = await json(folder, "instances.json");
      expect(keys).toHaveLength(1);
      expect(keys[0].x).not.toBe(key.x);
    }));
});

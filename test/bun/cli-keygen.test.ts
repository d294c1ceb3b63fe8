import { describe, expect, test } from "bun:test";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { meetingExample } from "../../src/cli/meeting.ts";
import { inFolder, jsonFile, yard, yardOnDeno } from "./cli-harness.ts";

interface Keys {
  readonly signing: { kid: string; d: string };
  readonly trusted: string[];
}

async function keysIn(directory: string): Promise<Keys> {
  const signing = JSON.parse(await readFile(join(directory, "signing.jwk"), "utf8"));
  const { keys } = JSON.parse(await readFile(join(directory, "trusted.jwks"), "utf8"));
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(["crv", "kid", "kty", "x"]);
  return { signing, trusted: keys.map(({ kid }: { kid: string }) => kid) };
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe("yard keygen", () => {
  for (const [runtime, run] of [
    ["Bun", yard],
    ["Deno", yardOnDeno],
  ] as const) {
    test(`makes a key for its owner alone and prints its kid, on ${runtime}`, () =>
      inFolder(async (cwd) => {
        const made = await run(["keygen"], { cwd });
        const directory = join(cwd, ".yardmaster", "keys");
        const { signing, trusted } = await keysIn(directory);
        expect(made).toMatchObject({ status: 0, stdout: `${signing.kid}\n` });
        expect(made.stdout + made.stderr).not.toContain(signing.d);
        expect(trusted).toEqual([signing.kid]);
        expect(await mode(directory)).toBe(0o700);
        expect(await mode(join(directory, "signing.jwk"))).toBe(0o600);
      }));
  }

  test("makes its own directory private, and leaves the mode of one it is given", () =>
    inFolder(async (folder) => {
      const own = join(folder, "keys");
      const given = join(folder, "given");
      for (const directory of [own, given]) {
        await mkdir(directory);
        await chmod(directory, 0o755);
      }
      const runs = [yard(["keygen", "--home", folder]), yard(["keygen", "--out", given])];
      for (const { status } of await Promise.all(runs)) expect(status).toBe(0);
      expect(await mode(own)).toBe(0o700);
      expect(await mode(given)).toBe(0o755);
      expect(await mode(join(given, "signing.jwk"))).toBe(0o600);
      expect((await keysIn(given)).trusted).toHaveLength(1);
    }));

  test("never overwrites a key unless told to", () =>
    inFolder(async (folder) => {
      const args = ["keygen", "--home", folder];
      await yard(args);
      const before = await keysIn(join(folder, "keys"));
      const again = await yard(args);
      expect(again).toMatchObject({ status: 1, stdout: "" });
      expect(again.stderr).toContain(
        `${join(folder, "keys", "signing.jwk")}: there is a signing key`,
      );
      expect(await keysIn(join(folder, "keys"))).toEqual(before);
    }));

  test("rotates: the key before stays trusted; --force: it does not", () =>
    inFolder(async (folder) => {
      const directory = join(folder, "keys");
      await yard(["keygen", "--home", folder]);
      const first = await keysIn(directory);
      await yard(["keygen", "--rotate", "--home", folder]);
      const second = await keysIn(directory);
      expect(second.trusted).toEqual([first.signing.kid, second.signing.kid]);
      expect(second.signing.kid).not.toBe(first.signing.kid);
      await yard(["keygen", "--force", "--home", folder]);
      const third = await keysIn(directory);
      expect(third.trusted).toEqual([first.signing.kid, third.signing.kid]);
      expect(await mode(join(directory, "signing.jwk"))).toBe(0o600);
    }));

  test("takes the home from YARDMASTER_HOME, and --home before it", () =>
    inFolder(async (folder) => {
      const env = { YARDMASTER_HOME: join(folder, "a") };
      await Promise.all([
        yard(["keygen"], { cwd: folder, env }),
        yard(["keygen", "--home", join(folder, "b")], { cwd: folder, env }),
      ]);
      expect((await keysIn(join(folder, "a", "keys"))).trusted).toHaveLength(1);
      expect((await keysIn(join(folder, "b", "keys"))).trusted).toHaveLength(1);
    }));

  test("replaces a broken key with --force only, and keeps out of a broken set of trusted keys", () =>
    inFolder(async (folder) => {
      const directory = join(folder, "keys");
      await yard(["keygen", "--home", folder]);
      const { trusted } = await keysIn(directory);
      await writeFile(join(directory, "signing.jwk"), '{"kty":"OKP","d":"marker');
      const rotate = await yard(["keygen", "--rotate", "--home", folder]);
      expect(rotate).toMatchObject({ status: 1, stdout: "" });
      expect(rotate.stderr).toBe(`${join(directory, "signing.jwk")}: not JSON\n`);
      await yard(["keygen", "--force", "--home", folder]);
      const replaced = await keysIn(directory);
      expect(replaced.trusted).toEqual([...trusted, replaced.signing.kid]);
      await writeFile(join(directory, "trusted.jwks"), '{"keys":[{"kty":"RSA"}]}');
      const refused = await yard(["keygen", "--rotate", "--home", folder]);
      expect(refused).toMatchObject({ status: 1, stdout: "" });
      expect(refused.stderr).toStartWith(`${join(directory, "trusted.jwks")}: not a usable key: `);
    }));

  test("keeps trusted keys that someone wrote without kid, as an array, and knows its own by x", () =>
    inFolder(async (folder) => {
      const trusted = join(folder, "keys", "trusted.jwks");
      await yard(["keygen", "--home", folder]);
      await yard(["keygen", "--rotate", "--home", folder]);
      const { keys } = JSON.parse(await readFile(trusted, "utf8"));
      const bare = keys.map(({ kid, ...key }: { kid: string }) => key);
      await writeFile(trusted, JSON.stringify(bare));
      await yard(["keygen", "--force", "--home", folder]);
      const after = JSON.parse(await readFile(trusted, "utf8")).keys;
      expect(after).toHaveLength(2);
      expect(after[0]).toEqual(bare[0]);
      expect(after[1].x).not.toBe(bare[1].x);
    }));

  test("lets publish warn about a key that others can read", () =>
    inFolder(async (folder) => {
      const file = await jsonFile(folder, "snapshot.json", meetingExample);
      await yard(["keygen", "--home", folder]);
      await chmod(join(folder, "keys", "signing.jwk"), 0o644);
      const run = await yard(["publish", file, "--home", folder]);
      expect(run.status).toBe(0);
      expect(run.stderr).toContain("warning: ");
      expect(run.stderr).toContain("chmod 600");
    }));
});

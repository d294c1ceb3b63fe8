/** What an agent asks of a store: files, memory, Redis where it is installed, Deno KV on Deno. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { utf8 } from "../../src/bytes.ts";
import { fileStore } from "../../src/store/file.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openWritableStore } from "../../src/store/open.ts";
import { redisStore } from "../../src/store/redis.ts";
import type { WritableStore } from "../../src/store/writable.ts";
import { bun, deno, launch, root, withDirectory } from "./processes.ts";

setDefaultTimeout(60_000);

/** What holds of each kind of store. */
async function expectStore(store: WritableStore): Promise<void> {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  expect(await store.get("moq-lb:agent:lease:1")).toBeUndefined();
  expect(await store.create("moq-lb:agent:lease:1", bytes)).toBe(true);
  expect(await store.create("moq-lb:agent:lease:1", utf8("other"))).toBe(false);
  expect(await store.get("moq-lb:agent:lease:1")).toEqual(bytes);
  const all = await Promise.all(
    Array.from({ length: 16 }, (_, i) => store.create("moq-lb:agent:lease:2", utf8(`${i}`))),
  );
  expect(all.filter((created) => created)).toHaveLength(1);
  const winner = all.indexOf(true);
  expect(await store.get("moq-lb:agent:lease:2")).toEqual(utf8(`${winner}`));
  await store.set("moq-lb:snapshot:12", bytes);
  await store.set("moq-lb:snapshot:1", bytes);
  await store.set("other:key", bytes);
  const keys = async (prefix: string) => (await store.keys(prefix)).sort();
  expect(await keys("moq-lb:agent:")).toEqual(["moq-lb:agent:lease:1", "moq-lb:agent:lease:2"]);
  expect(await keys("moq-lb:snapshot:1")).toEqual(["moq-lb:snapshot:1", "moq-lb:snapshot:12"]);
  expect(await keys("moq-lb:none:")).toEqual([]);
  await store.remove("moq-lb:agent:lease:1");
  await store.remove("moq-lb:agent:lease:1");
  expect(await store.create("moq-lb:agent:lease:1", utf8("again"))).toBe(true);
  expect(await store.get("moq-lb:agent:lease:1")).toEqual(utf8("again"));
  for (const bad of ["..:outside", "a:.hidden", "a::b", "a/b", ""]) {
    await expect(store.create(bad, bytes)).rejects.toMatchObject({ code: "STORE_FAILED" });
  }
}

describe("a writable store", () => {
  test("of one process creates an item once", () => expectStore(memoryStore()));

  test("of files creates an item once, and leaves no temporary file", () =>
    withDirectory(async (directory) => {
      const store = fileStore(join(directory, "a", "b"));
      await expectStore(store);
      const files = [...new Bun.Glob("**/*.tmp").scanSync({ cwd: directory, dot: true })];
      expect(files).toEqual([]);
      await expect(store.keys("..:")).rejects.toMatchObject({ code: "STORE_FAILED" });
    }));

  test("of files creates an item once among processes", () =>
    withDirectory(async (directory) => {
      const script = join(directory, "create.ts");
      await Bun.write(
        script,
        `import { fileStore } from ${JSON.stringify(join(root, "src/store/file.ts"))};
         import process from "node:process";
         const [directory, name] = process.argv.slice(2);
         let won = 0;
         for (let i = 0; i < 50; i++) {
           if (await fileStore(directory).create("epoch:" + i, new TextEncoder().encode(name))) won++;
         }
         console.log("won " + won);`,
      );
      const onDeno = [deno, "run", "-A", "--quiet", "--config", join(root, "deno.json")];
      const store = join(directory, "store");
      const racers = [[bun], [bun], onDeno].map((command, i) =>
        launch([...command, script, store, `racer-${i}`]),
      );
      const won = await Promise.all(
        racers.map(async (racer) => Number((await racer.printed(/won (\d+)/))[1])),
      );
      expect(won.reduce((sum, count) => sum + count, 0)).toBe(50);
    }));

  const redisServer = Bun.which("redis-server");
  test.skipIf(redisServer === null)("of Redis creates an item once", () =>
    withDirectory(async (directory) => {
      const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      const port = String(probe.port);
      probe.stop(true);
      const options = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory];
      const server = launch([redisServer as string, ...options], {});
      try {
        await server.printed(/Ready to accept connections/);
        await expectStore(redisStore(`redis://127.0.0.1:${port}`));
      } finally {
        server.kill("SIGTERM");
        await server.exited;
      }
    }),
  );

  test("of Deno KV creates an item once, and lists by prefix", () =>
    withDirectory(async (directory) => {
      const script = join(directory, "kv.ts");
      await Bun.write(
        script,
        `import { denoKvStore } from ${JSON.stringify(join(root, "src/store/deno-kv.ts"))};
         const store = denoKvStore(Deno.args[0]);
         const text = (word) => new TextEncoder().encode(word);
         const all = await Promise.all(
           [1, 2, 3, 4].map((i) => store.create("moq-lb:agent:lease:1", text("x" + i))),
         );
         await store.set("moq-lb:snapshot:12", text("y"));
         await store.set("moq-lb:snapshot:2", text("z"));
         console.log(JSON.stringify([
           all.filter((created) => created).length,
           await store.create("moq-lb:agent:lease:1", text("late")),
           await store.keys("moq-lb:snapshot:1"),
           await store.keys("moq-lb:agent:"),
         ]));
         await store.remove("moq-lb:agent:lease:1");
         console.log(await store.create("moq-lb:agent:lease:1", text("again")));
         Deno.exit(0);`,
      );
      const config = join(root, "deno.json");
      const command = [
        deno,
        "run",
        "-A",
        "--quiet",
        "--no-check",
        "--unstable-kv",
        "--config",
        config,
      ];
      const run = launch([...command, script, join(directory, "kv.sqlite")]);
      expect(await run.exited).toBe(0);
      expect(run.output()).toBe(
        '[1,false,["moq-lb:snapshot:12"],["moq-lb:agent:lease:1"]]\ntrue\n',
      );
    }));

  test("is opened by its address, and no other kind of address is one", async () => {
    const fault = openWritableStore("https://agent.example", "store");
    await expect(fault).rejects.toMatchObject({ code: "INVALID_CONFIGURATION" });
  });
});

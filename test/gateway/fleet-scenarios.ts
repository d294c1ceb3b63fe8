/** Two gateways of one fleet over the stores that there are, and what they do without. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "#test";
import type { FleetStore } from "../../src/client-group/mod.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openWritableStore } from "../../src/store/open.ts";
import type { RawClient } from "../support/http2/raw-client.ts";
import type { RawOrigin } from "../support/http2/raw-origin.ts";
import { answering, clear, eventually, MemorySink, OperationsBed, to } from "./operations-bed.ts";

/** A real Redis server, where this machine has one. */
export const redisPath = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find(existsSync);

interface Store {
  /** As both gateways open it. */
  open(): Promise<FleetStore>;
}

const stores: Readonly<Record<string, (bed: OperationsBed) => Promise<Store>>> = {
  async memory() {
    const store = memoryStore();
    return { open: async () => store };
  },
  async file(bed) {
    const directory = await mkdtemp(join(tmpdir(), "yardmaster-fleet-"));
    bed.atEnd(() => rm(directory, { recursive: true, force: true }));
    return { open: () => openWritableStore(`file:${directory}`, "fleet") };
  },
  ...(redisPath !== undefined && {
    async redis(bed: OperationsBed) {
      const redis = await Redis.start();
      bed.atEnd(() => redis.stop());
      return { open: () => openWritableStore(`redis://127.0.0.1:${redis.port}`, "fleet") };
    },
  }),
};

/** A real Redis server, which keeps nothing on disk. */
class Redis {
  readonly port: number;
  #process: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<Redis> {
    const redis = new Redis(await freePort());
    await redis.begin();
    return redis;
  }

  async begin(): Promise<void> {
    const args = ["--port", `${this.port}`, "--bind", "127.0.0.1", "--save", ""];
    this.#process = spawn(redisPath as string, args, { stdio: "ignore" });
    await eventually(() => answers(this.port));
  }

  /** How many clients it has, but for the one that asks. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, "127.0.0.1", () => socket.write("CLIENT LIST\r\n"));
      let text = "";
      socket.on("data", (data) => {
        text += data;
        if (!text.endsWith("\r\n") || text.indexOf("\r\n") === text.length - 2) return;
        resolve(text.split("\n").filter((line) => line.includes("addr=")).length - 1);
        socket.destroy();
      });
      socket.once("error", reject);
    });
  }

  async stop(): Promise<void> {
    const running = this.#process;
    if (running === undefined || running.exitCode !== null) return;
    this.#process = undefined;
    running.kill("SIGKILL");
    await once(running, "exit");
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.once("data", (data) => {
      resolve(`${data}`.startsWith("+PONG"));
      socket.destroy();
    });
    socket.once("error", () => resolve(false));
  });
}

/** Two gateways of one fleet before one origin, and a client of each. */
class Fleet {
  readonly origin: RawOrigin;
  readonly gateways: readonly [Gateway, Gateway];
  readonly clients: readonly [RawClient, RawClient];
  readonly sinks: readonly [MemorySink, MemorySink];

  private constructor(
    origin: RawOrigin,
    gateways: Fleet["gateways"],
    clients: Fleet["clients"],
    sinks: Fleet["sinks"],
  ) {
    this.origin = origin;
    this.gateways = gateways;
    this.clients = clients;
    this.sinks = sinks;
  }

  static async open(bed: OperationsBed, store: Store): Promise<Fleet> {
    const origin = await bed.origin(answering);
    const json = {
      listen: [clear()],
      origins: [to(origin)],
      client: "header:x-user",
      fleet: "file:/nowhere",
    };
    const sinks = [new MemorySink(), new MemorySink()] as const;
    const start = (sink: MemorySink) => bed.gateway(json, { sink, openStore: () => store.open() });
    const gateways = [await start(sinks[0]), await start(sinks[1])] as const;
    const clients = [
      await bed.client(gateways[0].urls[0] as string),
      await bed.client(gateways[1].urls[0] as string),
    ] as const;
    return new Fleet(origin, gateways, clients, sinks);
  }

  /** A request of a user through one of them; its status. */
  async ask(through: 0 | 1, user: string, path = "/"): Promise<number> {
    const { status } = await this.clients[through].fetch({ path, fields: [["x-user", user]] });
    return status;
  }

  /** A request that the origin holds. */
  hold(through: 0 | 1, user: string, path: string) {
    this.clients[through].request({ path, fields: [["x-user", user]] });
    return this.origin.requestFor(path);
  }

  /** What the origin says of a user on the connection of one of them. */
  async say(
    through: 0 | 1,
    user: string,
    action: "BLOCK" | "LIMIT" | "CLEAR",
    value = 0,
  ): Promise<void> {
    const path = `/say/${through}/${user}/${action}/${Math.random()}`;
    const { status } = await this.clients[through].fetch({ path, fields: [["x-user", user]] });
    assert.equal(status, 200);
    const [request] = this.origin.requestsFor(path);
    assert.ok(request?.group !== undefined);
    request.connection.groupControl(action, request.group, value);
    await request.connection.ping();
  }
}

export function fleetScenarios(): void {
  for (const [name, open] of Object.entries(stores)) {
    const scenario = (title: string, body: (fleet: Fleet, bed: OperationsBed) => Promise<void>) =>
      test(title, () =>
        OperationsBed.run(async (bed) => body(await Fleet.open(bed, await open(bed)), bed)),
      );
    describe(`a fleet over ${name}`, () => restrictions(scenario));
  }
  if (redisPath !== undefined) describe("a fleet that loses Redis", losses);
  if (redisPath !== undefined) describe("a fleet that goes to another Redis", reloads);
}

type Scenario = (title: string, body: (fleet: Fleet, bed: OperationsBed) => Promise<void>) => void;

function restrictions(scenario: Scenario): void {
  scenario("holds a BLOCK everywhere within a second [CG-ACT-6, CG-BLOCK-1]", async (fleet) => {
    assert.equal(await fleet.ask(1, "alice"), 200);
    await fleet.say(0, "alice", "BLOCK", 60);
    const begun = performance.now();
    await eventually(async () => (await fleet.ask(1, "alice")) === 429);
    assert.ok(performance.now() - begun < 1_000, `${performance.now() - begun} ms`);
    assert.equal(await fleet.ask(0, "alice"), 429);
    assert.equal(await fleet.ask(1, "bob"), 200);
  });

  scenario("knows of the BLOCK before a client's first request elsewhere", async (fleet) => {
    await fleet.say(0, "alice", "BLOCK", 60);
    await eventually(() => fleet.gateways[0].view().fleet?.pending === 0);
    assert.equal(await fleet.ask(1, "alice", "/first"), 429);
    assert.equal(fleet.origin.requestsFor("/first").length, 0);
  });

  scenario("ends a BLOCK everywhere by CLEAR [CG-CLEAR-1, E08]", async (fleet) => {
    const held = await fleet.hold(1, "alice", "/wait");
    await fleet.say(0, "alice", "BLOCK", 60);
    await eventually(async () => (await fleet.ask(1, "alice")) === 429);
    held.connection.groupControl("CLEAR", held.group as number, 0);
    await held.connection.ping();
    await eventually(async () => (await fleet.ask(0, "alice")) === 200);
    assert.equal(await fleet.ask(1, "alice"), 200);
  });

  scenario("ends a BLOCK everywhere by its deadline [CG-ACT-2]", async (fleet) => {
    await fleet.say(0, "alice", "BLOCK", 1);
    assert.equal(
      await fleet.ask(1, "alice").then((status) => status === 200 || status === 429),
      true,
    );
    await eventually(async () => {
      const both = [await fleet.ask(0, "alice"), await fleet.ask(1, "alice")];
      return both.every((status) => status === 200);
    }, 3_000);
  });

  scenario("keeps a LIMIT over all of them together [CG-ACT-3, CG-LIMIT-1]", async (fleet) => {
    const held = await fleet.hold(0, "alice", "/wait/0");
    held.connection.groupControl("LIMIT", held.group as number, 2);
    await held.connection.ping();
    await eventually(() => fleet.gateways[1].view().fleet?.records === 1);
    for (let i = 1; i <= 6; i++) {
      fleet.clients[i % 2 === 0 ? 0 : 1].request({
        path: `/wait/${i}`,
        fields: [["x-user", "alice"]],
      });
    }
    const open = () => fleet.origin.requests.filter(({ path }) => path.startsWith("/wait")).length;
    await eventually(() => open() === 2);
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.equal(open(), 2);
    held.respond(200);
    await eventually(() => open() === 3);
    assert.equal(await fleet.ask(1, "bob"), 200);
  });

  scenario("tells nobody of a client that is a connection", async (fleet, bed) => {
    const one = await bed.client(fleet.gateways[0].urls[0] as string);
    await one.fetch({ path: "/anonymous" });
    const [request] = fleet.origin.requestsFor("/anonymous");
    assert.ok(request?.group !== undefined);
    request.connection.groupControl("BLOCK", request.group, 60);
    await request.connection.ping();
    await eventually(() => fleet.gateways[0].view().restrictions.blocked === 1);
    assert.equal((await one.fetch({ path: "/" })).status, 429);
    assert.equal(fleet.gateways[0].view().fleet?.records, 0);
  });
}

function reloads(): void {
  test("a store that the configuration names no more has no connection left, one that it names again a new one", async () => {
    await OperationsBed.run(async (bed) => {
      const stores: Redis[] = [];
      for (let count = 0; count < 2; count++) {
        const redis = await Redis.start();
        bed.atEnd(() => redis.stop());
        stores.push(redis);
      }
      const [first, second] = stores as [Redis, Redis];
      const origin = await bed.origin(answering);
      const json = { listen: [clear()], origins: [to(origin)], client: "header:x-user" };
      const over = (redis: Redis) => ({ ...json, fleet: `redis://127.0.0.1:${redis.port}` });
      const gateway = await bed.gateway(over(first));
      assert.equal(await first.connections(), 1);
      await gateway.reload(await bed.config(over(second)));
      await eventually(async () => (await first.connections()) === 0);
      assert.equal(await second.connections(), 1);
      await gateway.reload(await bed.config(over(second)));
      assert.equal(await second.connections(), 1);
      const taken = { ...over(first), listen: [clear(second.port)] };
      await assert.rejects(gateway.reload(await bed.config(taken)), { code: "LISTEN_FAILED" });
      await eventually(async () => (await first.connections()) === 0);
      assert.equal(gateway.view().fleet?.state, "connected");
      await gateway.reload(await bed.config(json));
      await eventually(async () => (await second.connections()) === 0);
      await gateway.reload(await bed.config(over(first)));
      assert.equal(await first.connections(), 1);
      await gateway.close();
      await eventually(async () => (await first.connections()) === 0);
    });
  });
}

function losses(): void {
  test("goes on in each process, raises an alarm, and shares again once it is back", async () => {
    await OperationsBed.run(async (bed) => {
      const redis = await Redis.start();
      bed.atEnd(() => redis.stop());
      const open = () => openWritableStore(`redis://127.0.0.1:${redis.port}`, "fleet");
      const fleet = await Fleet.open(bed, { open });
      const states = () => fleet.gateways.map((gateway) => gateway.view().fleet?.state);
      assert.deepEqual(states(), ["connected", "connected"]);
      await redis.stop();
      await eventually(() => states().every((state) => state === "lost"), 10_000);
      await fleet.say(0, "alice", "BLOCK", 600);
      assert.equal(await fleet.ask(0, "alice"), 429);
      const begun = performance.now();
      assert.equal(await fleet.ask(1, "alice"), 200);
      assert.ok(performance.now() - begun < 500, "nobody waits for a store that is lost");
      assert.deepEqual(
        fleet.sinks[0].of("fleet").map(({ state }) => state),
        ["connected", "lost"],
      );
      // It comes back empty.
      await redis.begin();
      await eventually(() => states().every((state) => state === "connected"), 15_000);
      await eventually(async () => (await fleet.ask(1, "alice")) === 429, 3_000);
    });
  });
}

/** `npm start` as a user meets it: a process, curl-like requests, Ctrl-C. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeControlMessage, draftName, drafts, type RequestError } from "../../src/moqt/mod.ts";
import { connectQuic } from "../../src/quic/mod.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { bun, eventually, launch, type RunningProcess, root, withDirectory } from "./processes.ts";

const startCommand = ["node", join(root, "scripts", "launch.mjs"), "start"];
const answersOn = /Yardmaster answers on (http:\S+)/;

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function yard(...args: string[]): { status: number; stdout: Buffer } {
  const result = Bun.spawnSync([bun, join(root, "src", "cli", "yard.ts"), ...args]);
  return { status: result.exitCode, stdout: result.stdout };
}

describe("npm start", () => {
  let home: string;
  let instance: RunningProcess;
  let url: string;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "yardmaster-start-"));
    instance = launch(startCommand, { env: { YARDMASTER_HOME: home, PORT: "0" } });
    url = (await instance.printed(answersOn))[1] as string;
    await instance.printed(/Ctrl-C/);
  });

  afterAll(() => {
    instance.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  test("sends the meeting's track to r2 [LB-EX-5, LB-REDIR-4]", async () => {
    const response = await fetch(`${url}/redirect/subscribe/example.2ecom-m1--video`, {
      redirect: "manual",
    });
    expect(response.status).toBe(307);
    expect(response.headers.get("location")).toBe(relayUri("r2"));
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  for (const draft of drafts) {
    test(`answers a SUBSCRIBE of draft ${draft} made by yard encode [RD-01, LB-REDIR-3, LB-REDIR-5, LB-REDIR-8]`, async () => {
      const encoded = yard(
        "encode",
        "subscribe",
        "example.2ecom-m1--video",
        "--draft",
        String(draft),
        "--binary",
      );
      expect(encoded.status).toBe(0);
      const response = await fetch(`${url}/moqt/${draftName(draft)}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: new Uint8Array(encoded.stdout),
      });
      expect(response.status).toBe(200);
      const answer = decodeControlMessage(
        new Uint8Array(await response.arrayBuffer()),
        draft,
      ) as RequestError;
      expect(answer.type).toBe("REQUEST_ERROR");
      expect(answer.errorCode).toBe(0x34n);
      expect(answer.retryInterval).toBe(0n);
      expect(answer.redirect?.connectUri).toBe(relayUri("r2"));
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      expect(answer.redirect?.trackNamespace.map(text)).toEqual(["example.com", "m1"]);
      expect(text(answer.redirect?.trackName as Uint8Array)).toBe("video");
    });
  }

  /** The URI of a relay, as it was printed. */
  function relayUri(rid: string): string {
    const uri = instance.output().match(new RegExp(`moqt://127\\.0\\.0\\.1:\\d+/${rid}`))?.[0];
    expect(uri).toBeDefined();
    return uri as string;
  }

  /** A client of a service at a moqt URI that has been printed, and takes its certificate. */
  async function clientOf(uri: string): Promise<RawPeer> {
    const hash = /SHA-256 (\S+=)/.exec(instance.output())?.[1] as string;
    const connection = await connectQuic({
      hostname: "127.0.0.1",
      port: Number(/:(\d+)\//.exec(uri)?.[1]),
      alpn: ["moqt-22"],
      certificateHashes: [new Uint8Array(Buffer.from(hash, "base64"))],
    });
    const peer = new RawPeer(quicTransport(connection));
    await peer.setup();
    return peer;
  }

  test("redirects a session to a relay that is there, on the same certificate [LB-EX-1, LB-KEY-4]", async () => {
    const service = /moqt:\/\/127\.0\.0\.1:\d+\/moqt/.exec(instance.output())?.[0] as string;
    const balancer = await clientOf(service);
    const asked = requestBytes("SUBSCRIBE", "example.2ecom-m1--video");
    const { redirect } = await balancer.refusal(asked);
    expect(redirect?.connectUri).toBe(relayUri("r2"));
    const relay = await clientOf(redirect?.connectUri as string);
    const setup = await relay.controlMessage();
    expect(JSON.stringify(setup, bigints)).toContain("relay r2");
    await relay.open(asked);
    await instance.printed(/relay r2: SUBSCRIBE example\.2ecom-m1--video/);
    for (const peer of [balancer, relay]) peer.transport.close(0n, "");
  });

  test("says where live sessions come in, and what to try there", () => {
    const output = instance.output();
    expect(output).toMatch(/moqt:\/\/127\.0\.0\.1:\d+\/moqt +raw QUIC, by quiche/);
    expect(output).toMatch(/https:\/\/127\.0\.0\.1:\d+\/moqt +WebTransport over HTTP\/3/);
    expect(output).toContain(`${url.replace("http", "ws")}/moqt`);
    expect(output).toMatch(/sub moqt:\/\/127\.0\.0\.1:\d+\/moqt example\.2ecom-m1 video/);
  });

  test("has nothing to warn of on a fresh home, and takes its snapshot before anybody can ask", () => {
    const before = instance.output().slice(0, instance.output().indexOf("Yardmaster answers"));
    expect(before).not.toContain("warning");
    expect(before.match(/"event":"snapshot"/g)).toHaveLength(1);
    expect(before).toContain('"reason":"activated"');
  });

  test("prints commands that find the home, wherever it is", () => {
    const commands = ["sub moqt:", "pub moqt:", "route example", "publish FILE", "status", "login"];
    for (const command of commands) {
      const line = instance.output().match(new RegExp(`yard -- ${command}.*`))?.[0];
      expect(line).toContain(` --home ${home}`);
    }
  });

  test("prints three commands to try, with the port it really has", () => {
    const output = instance.output();
    expect(output).toContain(`curl -si ${url}/redirect/subscribe/example.2ecom-m1--video`);
    expect(output).toContain("encode subscribe example.2ecom-m1--video --binary");
    expect(output).toContain("route example.2ecom-m1");
    expect(output).toContain("allow-all");
  });

  /** Where the meeting's track is sent once that is not `uri` any more. */
  async function leaves(uri: string): Promise<string | null> {
    return await eventually(
      async () => {
        const response = await fetch(`${url}/redirect/subscribe/example.2ecom-m1--video`, {
          redirect: "manual",
        });
        return response.headers.get("location");
      },
      (location) => location !== uri,
    );
  }

  test("runs an agent, by which operators drain a relay and see who follows [LB-HEALTH-11] [LB-CONF-25]", async () => {
    const r2 = relayUri("r2");
    expect(yard("drain", "r2", "--reason", "disk", "--home", home).status).toBe(0);
    const elsewhere = (await leaves(r2)) as string;
    expect([relayUri("r1"), relayUri("r3")]).toContain(elsewhere);
    const status = () => JSON.parse(String(yard("status", "--json", "--home", home).stdout));
    expect(status().relays.map(({ health }: { health: string }) => health)).toEqual([
      "healthy",
      "draining",
      "healthy",
    ]);
    expect(yard("undrain", "r2", "--home", home).status).toBe(0);
    expect(await leaves(elsewhere)).toBe(r2);
    const followers = await eventually(
      async () => status().instances,
      ([instance]) => instance.state === "current",
      30_000,
    );
    expect(followers).toMatchObject([{ id: "local", version: 4, mode: "proxy" }]);
    const agent = /Configuration Agent at (http:\S+)/.exec(instance.output())?.[1];
    expect(await (await fetch(`${agent}/`)).text()).not.toContain("r2");
  });

  test("publishing a file takes effect without a restart [LB-ROT-1, LB-KEY-11]", async () => {
    const file = join(home, "pool.json");
    await Bun.write(
      file,
      JSON.stringify({
        relays: [{ rid: "r9", uri: "https://r9.example/moq", probe: "none" }],
        routes: [{ prefix: ["example.com"], kind: "static", rid: "r9" }],
      }),
    );
    expect(yard("publish", file, "--home", home).status).toBe(0);
    const deadline = Date.now() + 15_000;
    let location: string | null = null;
    while (location !== "https://r9.example/moq" && Date.now() < deadline) {
      const response = await fetch(`${url}/redirect/subscribe/example.2ecom-m1--video`, {
        redirect: "manual",
      });
      location = response.headers.get("location");
      await Bun.sleep(50);
    }
    expect(location).toBe("https://r9.example/moq");
  });

  test("ends with status 0 on SIGINT", async () => {
    instance.kill("SIGINT");
    expect(await instance.exited).toBe(0);
  });

  test("a second start keeps what was published and signs it anew", async () => {
    const again = launch(startCommand, { env: { YARDMASTER_HOME: home, PORT: "0" } });
    try {
      const address = (await again.printed(answersOn))[1];
      const status = (await (await fetch(`${address}/status`)).json()) as Record<string, unknown>;
      expect(status.activeVersion).toBe(6);
      expect(status.stale).toBe(false);
      const response = await fetch(`${address}/redirect/subscribe/example.2ecom-m1--video`, {
        redirect: "manual",
      });
      expect(response.headers.get("location")).toBe("https://r9.example/moq");
      expect(again.output()).toContain("that the pool in the store does not name");
      again.kill("SIGTERM");
      expect(await again.exited).toBe(0);
    } finally {
      again.kill("SIGKILL");
    }
  });
});

test("a taken port ends the start with one line and status 1", async () => {
  await withDirectory(async (home) => {
    const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    try {
      const instance = launch(startCommand, {
        env: { YARDMASTER_HOME: home, PORT: String(taken.port) },
      });
      expect(await instance.exited).toBe(1);
      const complaint = instance
        .output()
        .split("\n")
        .filter((line) => line.includes("cannot listen"));
      expect(complaint).toHaveLength(1);
      expect(complaint[0]).toContain(`127.0.0.1:${taken.port}`);
      expect(instance.output()).not.toContain("    at ");
      expect(existsSync(join(home, "store"))).toBe(false);
    } finally {
      await taken.stop(true);
    }
  });
});

/** Opens a connection that sends the head of a POST and then not all of its body. */
async function stallingClient(url: string): Promise<{ end(): void }> {
  const { hostname, port } = new URL(url);
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data() {} },
  });
  socket.write(
    "POST /moqt/moqt-22 HTTP/1.1\r\nhost: lb\r\n" +
      "content-type: application/octet-stream\r\ncontent-length: 20\r\n\r\n12",
  );
  socket.flush();
  return socket;
}

test("SIGTERM to npm ends everything that it started, after a drain [GA-10]", async () => {
  await withDirectory(async (home) => {
    const npm = launch(["npm", "start"], { env: { YARDMASTER_HOME: home, PORT: "0" } });
    try {
      const url = (await npm.printed(answersOn))[1] as string;
      const [, hash] = await npm.printed(/SHA-256 (\S+=)/);
      const [, port] = await npm.printed(/moqt:\/\/127\.0\.0\.1:(\d+)\/moqt /);
      await npm.printed(/Ctrl-C/);
      const connection = await connectQuic({
        hostname: "127.0.0.1",
        port: Number(port),
        alpn: ["moqt-22"],
        certificateHashes: [new Uint8Array(Buffer.from(hash as string, "base64"))],
      });
      const peer = new RawPeer(quicTransport(connection));
      await peer.setup();
      await peer.refusal(requestBytes("SUBSCRIBE", "example.2ecom-m1--video"));
      npm.kill("SIGTERM");
      expect((await peer.controlMessage()).type).toBe("SETUP");
      expect((await peer.controlMessage()).type).toBe("GOAWAY");
      peer.transport.close(0n, "");
      // Its output is a pipe that everything it started holds: this waits for all of them.
      await npm.exited;
      await expect(fetch(url)).rejects.toThrow();
    } finally {
      npm.kill("SIGTERM");
    }
  });
}, 60_000);

test("a client that never finishes its request does not keep the instance alive", async () => {
  await withDirectory(async (home) => {
    const instance = launch(startCommand, { env: { YARDMASTER_HOME: home, PORT: "0" } });
    try {
      const url = (await instance.printed(answersOn))[1] as string;
      const client = await stallingClient(url);
      // An answered request after it: the instance has read what the stalling one sent.
      await (await fetch(`${url}/status`)).text();
      instance.kill("SIGINT");
      expect(await instance.exited).toBe(0);
      client.end();
    } finally {
      instance.kill("SIGKILL");
    }
  });
});

test("what is wrong in any setting is named in one line, and nothing is published", async () => {
  await withDirectory(async (directory) => {
    const instance = launch([bun, join(root, "workers", "bun.ts")], {
      env: { PORT: "http", YARDMASTER_STORE: "foo:", YARDMASTER_LOG: "loud" },
      cwd: directory,
    });
    expect(await instance.exited).toBe(1);
    const lines = instance.output().trim().split("\n");
    expect(lines).toHaveLength(1);
    for (const name of ["PORT", "YARDMASTER_STORE", "YARDMASTER_LOG", "YARDMASTER_MAXIMUM_AGE"]) {
      expect(lines[0]).toContain(name);
    }
  });
});

test("a PORT that is no number ends the start with one line and status 1", async () => {
  await withDirectory(async (home) => {
    const instance = launch(startCommand, { env: { YARDMASTER_HOME: home, PORT: "eighty" } });
    expect(await instance.exited).toBe(1);
    expect(instance.output()).toContain("PORT has to be a number from 0 to 65535");
    expect(instance.output()).not.toContain("    at ");
  });
});

/** `yard sub`, `yard pub` and `yard namespaces` as processes, through a balancer to relays. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ListeningRelay, listen } from "../../scripts/relay/listen.ts";
import { Relay, RelayNetwork } from "../../scripts/relay/mod.ts";
import { toHex, utf8 } from "../../src/bytes.ts";
import { chunks, lines } from "../../src/cli/pieces.ts";
import { listenForSessions, type SessionListeners } from "../../src/instance/listeners.ts";
import { createRedirectServer, defaultSessionLimits } from "../../src/moq-lb/mod.ts";
import { developmentCertificate } from "../../src/quic/mod.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";
import { activate } from "../suite/routing/fixtures.ts";
import { inFolder, type Run, yard, yardOnDeno } from "./cli-harness.ts";
import { bun, launch, root } from "./processes.ts";

// Programs start slowly on a busy machine.
setDefaultTimeout(30_000);

const network = new RelayNetwork();
const relays = ["r1", "r2", "r3"].map((name) => new Relay({ name, network }));
let listening: ListeningRelay[];
let balancer: SessionListeners;
let service: string;
let trust: string[];
let certificateDirectory: string;

beforeAll(async () => {
  certificateDirectory = await mkdtemp(join(tmpdir(), "yard-live-"));
  // Made before anybody needs it, so that all have the same.
  await developmentCertificate({ directory: certificateDirectory });
  listening = await Promise.all(relays.map((relay) => listen(relay, { certificateDirectory })));
  const snapshot = parseSnapshot({
    version: 1,
    relays: listening.map(({ uri }, i) => ({ rid: `r${i + 1}`, uri, health: "healthy" })),
    routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", "r2", "r3"] }],
  });
  const active = activate(snapshot);
  balancer = await listenForSessions({
    server: createRedirectServer({
      holder: { active },
      authorization: "allow-all",
      now: () => active.signedAt,
    }),
    hostname: "127.0.0.1",
    listen: { port: 0, developmentDirectory: certificateDirectory },
    sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 0 },
    log() {},
  });
  service = `moqt://127.0.0.1:${balancer.udpPort}/moqt`;
  trust = ["--insecure-hash", toHex(balancer.certificateHash as Uint8Array)];
});

afterAll(async () => {
  await Promise.all([balancer.close(), ...listening.map((relay) => relay.close())]);
  await rm(certificateDirectory, { recursive: true });
});

const runtimes = { Bun: yard, Deno: yardOnDeno };

/** Waits until a relay has got a request like this, and answers which. */
async function seen(type: string, name: string): Promise<string> {
  for (;;) {
    const found = relays
      .flatMap((relay) => relay.seen)
      .find((each) => each.type === type && each.name === name);
    if (found !== undefined) return found.relay;
    await Bun.sleep(10);
  }
}

for (const [runtime, run] of Object.entries(runtimes)) {
  describe(`on ${runtime}`, () => {
    test("a track travels from pub to sub through the relay that the table selects [LB-EX-1, LB-EX-8]", async () => {
      const name = `text-${runtime.toLowerCase()}`.replace("-", "_");
      const subscribing = run(["sub", service, "example.2ecom-m1", name, ...trust]);
      expect(await seen("SUBSCRIBE", `example.2ecom-m1--${name}`)).toBe("r2");
      const text = "first\nsecond\n\nlast without a newline";
      const published = await run(["pub", service, "example.2ecom-m1", name, "-", ...trust], {
        stdin: text,
      });
      expect(published.status).toBe(0);
      expect(published.stderr).toContain("published 4 objects in 4 groups");
      const subscribed = await subscribing;
      expect(subscribed.stdout).toBe(text);
      expect(subscribed.status).toBe(0);
      const relay = listening[1]?.uri;
      const story = withoutTimes(subscribed);
      expect(story.slice(0, 6)).toEqual([
        `connecting to ${service}`,
        `connected to ${service} by raw QUIC, moqt-22, yardmaster`,
        `REDIRECT to ${relay}`,
        `connecting to ${relay}`,
        `connected to ${relay} by raw QUIC, moqt-22, yardmaster test relay r2`,
        `SUBSCRIBE_OK from ${relay}`,
      ]);
      expect(story).toContain("the subscription has ended: TRACK_ENDED");
    });

    test("bytes arrive as they are, in chunks and groups that were asked for", async () => {
      await inFolder(async (folder) => {
        const bytes = crypto.getRandomValues(new Uint8Array(50_000));
        const file = join(folder, "film");
        await Bun.write(file, bytes);
        const name = `film_${runtime.toLowerCase()}`;
        const subscribing = run(["sub", service, "example.2ecom-m1", name, "--json", ...trust]);
        await seen("SUBSCRIBE", `example.2ecom-m1--${name}`);
        const options = ["--chunk", "1200", "--group", "10", ...trust];
        const published = await run(["pub", service, "example.2ecom-m1", name, file, ...options]);
        expect(published.stderr).toContain("published 42 objects in 5 groups");
        const objects = (await subscribing).stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
        expect(objects.length).toBe(42);
        const first = objects[0].group;
        const inOrder = objects.sort((a, b) => a.group - b.group || a.object - b.object);
        expect(inOrder.map(({ group, object }) => [group - first, object])).toEqual(
          Array.from({ length: 42 }, (_, i) => [Math.floor(i / 10), i % 10]),
        );
        expect(inOrder.map(({ payload }) => payload.hex).join("")).toBe(toHex(bytes));
      });
    });
  });
}

describe("lines that are published fast", () => {
  test("are printed as they were, although each group is a stream of its own", async () => {
    await inFolder(async (folder) => {
      const text = Array.from({ length: 400 }, (_, i) => `line ${i} ${"x".repeat(i * 7)}\n`).join(
        "",
      );
      const file = join(folder, "text");
      await Bun.write(file, text);
      for (const group of ["1", "7"]) {
        const name = `fast_${group}`;
        const subscribing = yard(["sub", service, "example.2ecom-m1", name, ...trust]);
        await seen("SUBSCRIBE", `example.2ecom-m1--${name}`);
        const options = ["--group", group, ...trust];
        const published = await yard(["pub", service, "example.2ecom-m1", name, file, ...options]);
        expect(published.status).toBe(0);
        const { stdout } = await subscribing;
        expect(stdout === text).toBe(true);
      }
    });
  });
});

describe("yard namespaces", () => {
  test("tells of namespaces that are announced, and of those that go", async () => {
    const announcing = launchYard(
      "pub",
      service,
      "example.2ecom-m1-alice",
      "chat",
      "-",
      "--announce",
      ...trust,
    );
    await announcing.printed(/waiting for a subscriber/);
    const watching = launchYard(
      "namespaces",
      service,
      "example.2ecom-m1",
      "--count",
      "2",
      ...trust,
    );
    await watching.printed(/^\+ example\.2ecom-m1-alice$/m);
    announcing.kill("SIGINT");
    expect(await announcing.exited).toBe(0);
    await watching.printed(/^- example\.2ecom-m1-alice$/m);
    expect(await watching.exited).toBe(0);
  });

  test("ends with its time, and prints JSON where that is asked for", async () => {
    const announcing = launchYard(
      "pub",
      service,
      "example.2ecom-m1-bob",
      "chat",
      "-",
      "--announce",
      ...trust,
    );
    await announcing.printed(/waiting for a subscriber/);
    const run = await yard([
      "namespaces",
      service,
      "example.2ecom-m1",
      "--json",
      "--timeout",
      "1",
      ...trust,
    ]);
    expect(run.status).toBe(0);
    expect(run.stdout).toBe('{"type":"NAMESPACE","namespace":"example.2ecom-m1-bob"}\n');
    announcing.kill("SIGINT");
    await announcing.exited;
  });
});

describe("yard sub", () => {
  test("ends with Ctrl-C, and leaves no session behind", async () => {
    const publishing = launchYard(
      "pub",
      service,
      "example.2ecom-m1",
      "endless",
      "/dev/zero",
      "--chunk",
      "100",
      "--interval",
      "20",
      ...trust,
    );
    await publishing.printed(/REQUEST_OK for PUBLISH/);
    const subscribing = launchYard(
      "sub",
      service,
      "example.2ecom-m1",
      "endless",
      "--json",
      ...trust,
    );
    await subscribing.printed(/"payload"/);
    subscribing.kill("SIGINT");
    expect(await subscribing.exited).toBe(0);
    expect(subscribing.output()).toContain("is over: NO_ERROR");
    publishing.kill("SIGTERM");
    expect(await publishing.exited).toBe(0);
    await until(() => relays.every(({ sessions }) => sessions === 0));
  });

  test("ends where nobody reads what it prints", async () => {
    const publishing = launchYard(
      "pub",
      service,
      "example.2ecom-m1",
      "piped",
      "/dev/zero",
      "--chunk",
      "100",
      "--interval",
      "5",
      ...trust,
    );
    await publishing.printed(/REQUEST_OK for PUBLISH/);
    const line = [bun, entry, "sub", service, "example.2ecom-m1", "piped", "--json", ...trust].join(
      " ",
    );
    const piped = launch(["sh", "-c", `${line} | head -n 1`]);
    expect(await piped.exited).toBe(0);
    publishing.kill("SIGINT");
    await publishing.exited;
  });

  test("waits for a publisher as long as it is told, and says so where none comes", async () => {
    const run = await yard([
      "sub",
      service,
      "example.2ecom-m1",
      "nobody",
      "--wait",
      "0.2",
      ...trust,
    ]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("SUBSCRIBE was refused with TIMEOUT (0x2)");
  });

  test("is told by the balancer that no route leads anywhere", async () => {
    const run = await yard(["sub", service, "elsewhere", "video", ...trust]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("SUBSCRIBE was refused with DOES_NOT_EXIST (0x10)");
    expect(run.stdout).toBe("");
  });

  test("gives up when its time is up", async () => {
    const run = await yard([
      "sub",
      service,
      "example.2ecom-m1",
      "nobody",
      "--timeout",
      "0.3",
      ...trust,
    ]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("the time is up");
  });

  test("does not trust a certificate that nobody vouches for", async () => {
    await inFolder(async (folder) => {
      const run = await yard(["sub", service, "example.2ecom-m1", "video", "--home", folder]);
      expect(run.status).toBe(1);
      expect(run.stderr).toMatch(/cannot reach .*certificate/);
      const wrong = "00".repeat(32);
      const hashed = await yard([
        "sub",
        service,
        "example.2ecom-m1",
        "video",
        "--insecure-hash",
        wrong,
      ]);
      expect(hashed.status).toBe(1);
    });
  });

  test("accepts the certificate for development of its home, from this machine", async () => {
    const options = ["--home", certificateDirectory, "--wait", "0.1"];
    const run = await yard(["sub", service, "example.2ecom-m1", "nobody", ...options]);
    expect(run.stderr).toContain(`connected to ${service}`);
  });
});

describe("yard pub", () => {
  test("says why draft 18 has no redirect for it, and what helps [RD-03]", async () => {
    const options = ["--draft", "18", ...trust];
    const refused = await yard(["pub", service, "example.2ecom-m1", "old", "-", ...options], {
      stdin: "x",
    });
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("draft 18 cannot redirect a PUBLISH");
    const publishing = yard(
      ["pub", service, "example.2ecom-m1", "old", "-", "--announce", ...options],
      { stdin: "x" },
    );
    await seen("PUBLISH_NAMESPACE", "example.2ecom-m1");
    const subscribed = await yard(["sub", service, "example.2ecom-m1", "old", ...options]);
    expect(subscribed.stdout).toBe("x");
    expect((await publishing).status).toBe(0);
  });

  test("ends after the objects that were asked for", async () => {
    const options = ["--count", "2", "--group", "5", ...trust];
    const run = await yard(["pub", service, "example.2ecom-m1", "few", "-", ...options], {
      stdin: "a\nb\nc\n",
    });
    expect(run.status).toBe(0);
    expect(run.stderr).toContain("published 2 objects in 1 group\n");
  });

  test("does not call it a success where what it published was lost on the way", async () => {
    const relay = new Relay({ name: "r9", network: new RelayNetwork() });
    const own = await listen(relay, { certificateDirectory });
    const options = ["--chunk", "1000", "--interval", "20", ...trust];
    const name = ["example.2ecom-m1", "lost"];
    const subscribing = launchYard("sub", own.uri, ...name, "--json", ...trust);
    const publishing = launchYard(
      "pub",
      own.uri,
      ...name,
      "/dev/zero",
      "--count",
      "50",
      ...options,
    );
    await subscribing.printed(/"payload"/);
    // Its sessions end; under the same address, it takes new ones.
    relay.fail();
    expect(await publishing.exited).toBe(1);
    expect(publishing.output()).toContain("a connection was lost");
    subscribing.kill("SIGINT");
    await subscribing.exited;
    await own.close();
  });

  test("says what is wrong with the file", async () => {
    const run = await yard([
      "pub",
      service,
      "example.2ecom-m1",
      "none",
      "/nowhere/at/all",
      ...trust,
    ]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("/nowhere/at/all: no such file");
    expect(run.stderr).not.toContain("connecting");
  });
});

test("a wrong command line is told before anything is done", async () => {
  const cases: [string[], RegExp][] = [
    [["sub", "http://x", "ns", "name"], /URI has to be a moqt, https or wss URI/],
    [
      ["sub", service, "ns", "name", "--draft", "17"],
      /--draft has to be one of 22, 21, 20, 19, 18/,
    ],
    [["sub", service, "ns", "name", "--count", "0"], /--count has to be an integer from 1/],
    [
      ["sub", service, "ns", "name", "--insecure-hash", "abc"],
      /--insecure-hash has to be a SHA-256/,
    ],
    [
      ["sub", service, "ns", "name", "--timeout", "soon"],
      /--timeout has to be a number of seconds/,
    ],
    [["pub", service, "ns", "name"], /missing argument FILE/],
    [["pub", service, "ns", "name", "-", "--chunk", "0"], /--chunk has to be an integer from 1/],
  ];
  for (const [args, message] of cases) {
    const run = await yard(args);
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(message);
    expect(run.stdout).toBe("");
  }
  const misnamed = await yard(["sub", service, "example.com/m1", "video"]);
  expect(misnamed.status).toBe(1);
  expect(misnamed.stderr).toContain("perhaps you mean: example.2ecom-m1--video");
});

describe("pieces of an input", () => {
  async function* inParts(...parts: string[]) {
    for (const part of parts) yield utf8(part);
  }
  const collect = async (pieces: AsyncIterable<Uint8Array>) => {
    const texts: string[] = [];
    for await (const piece of pieces) texts.push(new TextDecoder().decode(piece));
    return texts;
  };

  test("are lines with their newlines, whatever parts they come in", async () => {
    expect(await collect(lines(inParts("a\nb", "c", "\n\nd")))).toEqual(["a\n", "bc\n", "\n", "d"]);
    expect(await collect(lines(inParts()))).toEqual([]);
  });

  test("are chunks of one size, the last one shorter", async () => {
    expect(await collect(chunks(inParts("ab", "cdefg", "h"), 3))).toEqual(["abc", "def", "gh"]);
    expect(await collect(chunks(inParts("abc", "def"), 3))).toEqual(["abc", "def"]);
  });
});

const entry = join(root, "src", "cli", "yard.ts");

function launchYard(...args: string[]) {
  return launch([bun, entry, ...args]);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await Bun.sleep(10);
}

function withoutTimes({ stderr }: Run): string[] {
  return stderr.trim().split("\n");
}

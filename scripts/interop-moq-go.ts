/**
 * `npm run interop:moq-go [-- RELAY]`: moq-go, a relay in Go that nobody here wrote, behind our
 * balancer with our client in front, in draft 20: in redirect mode, then in proxy mode. Builds the
 * relay in the version that is pinned here, or takes the program RELAY; publishes and subscribes a
 * track through it in each mode, and prints what happened. Exits with 0 where all went well, and
 * where there is no relay to be had, which it says: no Go on the machine, or a module that no server
 * gives; with 1 where anything failed, the build included.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { utf8 } from "../src/bytes.ts";
import { type Client, type ClientEvent, connect } from "../src/client/mod.ts";
import { listenForSessions } from "../src/instance/listeners.ts";
import { defaultSessionLimits } from "../src/moq-lb/mod.ts";
import { createSessionServer } from "../src/moq-lb/proxy/session-server.ts";
import type { Draft } from "../src/moqt/mod.ts";
import { type DevelopmentCertificate, developmentCertificate } from "../src/quic/mod.ts";
import { parseSnapshot } from "../src/snapshot/mod.ts";
import { dial } from "../src/transport/dial.ts";

/** The relay, at the commit whose STATUS.md is about draft 20. Go checks it by its checksum database. */
const relayModule = "github.com/floatdrop/moq-go";
const relayCommand = `${relayModule}/cmd/relay`;
const relayVersion = "05abc1bba67de27fa2aeb295ebe43ea7c778c4dc";

const draft: Draft = 20;
const objects = ["one", "two", "three"];

/** Milliseconds that one step may take. */
const patience = 15_000;

function say(line: string): void {
  process.stdout.write(`interop: ${line}\n`);
}

/** Something went wrong that is worth a line and no stack. */
class Failure extends Error {}

async function within<Value>(what: string, promise: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Failure(`${what}: nothing within ${patience} ms`)),
      patience,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The Go command, on the path or where Go installs itself. */
function findGo(): string | undefined {
  return ["go", "/usr/local/go/bin/go"].find(
    (name) => spawnSync(name, ["version"], { stdio: "ignore" }).status === 0,
  );
}

/** Runs `go` outside of this tree, so that no module of anybody counts. @returns what it complains of */
function complaint(go: string, args: readonly string[], directory: string): string | undefined {
  const { status, stderr } = spawnSync(go, args, { cwd: directory, encoding: "utf8" });
  return status === 0 ? undefined : stderr.trim();
}

/**
 * Downloads the relay and all that it needs.
 *
 * @returns which module could not be had and why, in one line, where a server did not give it
 */
function download(go: string, directory: string): string | undefined {
  for (const args of [
    ["mod", "init", "interop"],
    ["get", `${relayModule}@${relayVersion}`],
    ["get", relayCommand],
  ]) {
    const fault = complaint(go, args, directory);
    if (fault === undefined) continue;
    const refusal = unobtainable(fault);
    if (refusal === undefined) throw new Failure(`go ${args.join(" ")}: ${fault}`);
    return refusal;
  }
  return undefined;
}

/** What Go says of a module that its proxy, or the server of its source, did not give. */
function unobtainable(fault: string): string | undefined {
  const refused =
    /(?:reading|Get) "?https?:\/\/[^/\s]+\/(\S+?)\/@\S+: (.+(?:\s+server response: .+)?)/.exec(
      fault,
    );
  const unreachable = /module (\S+?): (git \S+ .*: exit status \d+)/.exec(fault);
  const [, path, reason] = refused ?? unreachable ?? [];
  if (path === undefined || reason === undefined) return undefined;
  // The proxy's way of writing capitals.
  const name = path.replace(/!([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const version = name === relayModule ? `, at ${relayVersion.slice(0, 12)},` : "";
  return `the Go module ${name}${version} could not be had: ${reason.replace(/\s+/g, " ")}`;
}

/** The path of the relay, downloaded and built; `undefined` where it is not to be had, and said so. */
function obtain(directory: string): string | undefined {
  const go = findGo();
  if (go === undefined) {
    say("skipped: Go is not on this machine");
    return undefined;
  }
  say(`downloading ${relayCommand}@${relayVersion.slice(0, 12)} ...`);
  const refusal = download(go, directory);
  if (refusal !== undefined) {
    say(`skipped: ${refusal}`);
    return undefined;
  }
  say("building it ...");
  const program = join(directory, "relay");
  const fault = complaint(go, ["build", "-o", program, relayCommand], directory);
  if (fault !== undefined) throw new Failure(`the relay could not be built: ${fault}`);
  return program;
}

/** Starts the relay on a free port. @returns the port, once it listens */
async function start(
  program: string,
  directory: string,
  certificate: DevelopmentCertificate,
): Promise<{ child: ChildProcess; port: number }> {
  const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  writeFileSync(files.cert, certificate.certificatePem);
  writeFileSync(files.key, certificate.keyPem, { mode: 0o600 });
  const child = spawn(program, ["-addr", "127.0.0.1:0", "-cert", files.cert, "-key", files.key], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const port = new Promise<number>((resolve, reject) => {
    const lines = createInterface({ input: child.stderr });
    lines.on("line", (line) => {
      const found = /relay listening on \S*:(\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    lines.on("close", () => reject(new Failure("the relay ended before it listened")));
  });
  return { child, port: await within("the relay listens", port) };
}

/** A balancer that sends everything to `relayUri`, or carries it there. */
async function balance(relayUri: string, relayHash: Uint8Array) {
  const snapshot = parseSnapshot({
    version: 1,
    relays: [{ rid: "moq-go", uri: relayUri, health: "healthy" }],
    routes: [{ prefix: [], kind: "static", rid: "moq-go" }],
  });
  const active = { snapshot, signedAt: Date.now(), maximumAge: 600_000, digest: "" };
  return await listenForSessions({
    server: createSessionServer({
      holder: { active },
      authorization: "allow-all",
      proxy: {
        uris: ["/proxy"],
        dial: (uri, { draft: spoken, signal }) =>
          dial(uri, { drafts: [spoken], certificateHashes: [relayHash], signal }),
        backendTokens: "none",
        drainDeadline: 5000,
      },
    }),
    hostname: "127.0.0.1",
    listen: { port: 0 },
    sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 0 },
    log: () => {},
  });
}

function tell(who: string): (event: ClientEvent) => void {
  return (event) => {
    if (event.type === "connected") {
      const { uri, draft: spoken, implementation = "unnamed" } = event;
      say(`${who}: session with ${uri}, draft ${spoken}, ${JSON.stringify(implementation)}`);
    } else if (event.type === "redirected") say(`${who}: redirected to ${event.to.uri}`);
    else if (event.type === "retrying") say(`${who}: again in ${event.delay} ms: ${event.cause}`);
  };
}

/** A track from one client to another, both sent to the relay by the balancer, or carried there. */
async function transfer(mode: string, publisher: Client, subscriber: Client): Promise<void> {
  const trackNamespace = [utf8("interop"), utf8(mode)];
  const name = { trackNamespace, trackName: utf8("video") };
  const publication = await within("PUBLISH", publisher.publish(name));
  say("publisher: PUBLISH accepted");
  const subscription = await within("SUBSCRIBE", subscriber.subscribe(name));
  say("subscriber: SUBSCRIBE accepted");
  await within("somebody gets the track", publication.wanted());
  const group = publication.openGroup();
  for (const text of objects) await group.write(utf8(text));
  await group.end();
  const received: string[] = [];
  const receive = async () => {
    for await (const { payload } of subscription) {
      received.push(new TextDecoder().decode(payload));
      if (received.length === objects.length) return;
    }
  };
  await within("objects", receive());
  if (received.join() !== objects.join()) throw new Failure(`received ${received.join()}`);
  say(`subscriber: received ${received.length} objects as they were published`);
}

async function main(): Promise<void> {
  const [built] = process.argv.slice(2);
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-moq-go-"));
  let relay: ChildProcess | undefined;
  try {
    const program = built ?? obtain(directory);
    if (program === undefined) return;
    const certificate = await developmentCertificate();
    const { child, port } = await start(program, directory, certificate);
    relay = child;
    const relayUri = `moqt://127.0.0.1:${port}/`;
    say(`the relay listens at ${relayUri}`);
    const balancer = await balance(relayUri, certificate.hash);
    const ownHash = balancer.certificateHash as Uint8Array;
    const modes = [
      // Whoever is redirected connects to the relay.
      { mode: "redirect", path: "/moqt", certificateHashes: [ownHash, certificate.hash] },
      { mode: "proxy", path: "/proxy", certificateHashes: [ownHash] },
    ];
    for (const { mode, path, certificateHashes } of modes) {
      say(`${mode} mode`);
      const client = (who: string) =>
        connect({
          serviceUri: `moqt://127.0.0.1:${balancer.udpPort}${path}`,
          drafts: [draft],
          connection: { certificateHashes },
          maximumAttempts: 2,
          onEvent: tell(who),
        });
      const [publisher, subscriber] = [client("publisher"), client("subscriber")];
      await transfer(mode, publisher, subscriber);
      await Promise.all([subscriber.close(), publisher.close()]);
    }
    await balancer.close();
    say("passed");
  } finally {
    relay?.kill();
    rmSync(directory, { recursive: true });
  }
}

try {
  await main();
} catch (error) {
  say(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
process.exit(0);

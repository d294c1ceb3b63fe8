/**
 * `npm run interop:moq-go [-- RELAY]`: moq-go, a relay in Go that nobody here wrote, behind our
 * balancer with our client in front, in draft 20. Builds the relay in the version that is pinned
 * here, or takes the program RELAY; publishes and subscribes a track through it, and prints what
 * happened. Exits with 0 where all went well, or where Go is missing; with 1 where something failed,
 * the build included.
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
import { createRedirectServer, defaultSessionLimits } from "../src/moq-lb/mod.ts";
import type { Draft } from "../src/moqt/mod.ts";
import { type DevelopmentCertificate, developmentCertificate } from "../src/quic/mod.ts";
import { parseSnapshot } from "../src/snapshot/mod.ts";

/** The command, at the commit whose STATUS.md is about draft 20. Go checks it by its checksum database. */
const relayCommand = "github.com/floatdrop/moq-go/cmd/relay";
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

/** Builds the relay into `directory`. @returns its path */
function build(directory: string): string {
  say(`building ${relayCommand}@${relayVersion.slice(0, 12)} ...`);
  const { status, stderr } = spawnSync("go", ["install", `${relayCommand}@${relayVersion}`], {
    // Outside of this tree, so that no module of anybody counts.
    cwd: directory,
    env: { ...process.env, GOBIN: directory },
    encoding: "utf8",
  });
  if (status !== 0) throw new Failure(`the relay could not be built: ${stderr.trim()}`);
  return join(directory, "relay");
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

/** A balancer that sends everything to `relayUri`. */
async function balance(relayUri: string) {
  const snapshot = parseSnapshot({
    version: 1,
    relays: [{ rid: "moq-go", uri: relayUri, health: "healthy" }],
    routes: [{ prefix: [], kind: "static", rid: "moq-go" }],
  });
  const active = { snapshot, signedAt: Date.now(), maximumAge: 600_000, digest: "" };
  return await listenForSessions({
    server: createRedirectServer({ holder: { active }, authorization: "allow-all" }),
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

const name = { trackNamespace: [utf8("interop"), utf8("meeting")], trackName: utf8("video") };

/** A track from one client to another, both sent to the relay by the balancer. */
async function transfer(publisher: Client, subscriber: Client): Promise<void> {
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
  const go = spawnSync("go", ["version"], { encoding: "utf8" });
  if (built === undefined && go.error !== undefined) {
    say("Go is not on this machine: nothing was run");
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-moq-go-"));
  let relay: ChildProcess | undefined;
  try {
    const program = built ?? build(directory);
    const certificate = await developmentCertificate();
    const { child, port } = await start(program, directory, certificate);
    relay = child;
    const relayUri = `moqt://127.0.0.1:${port}/`;
    say(`the relay listens at ${relayUri}`);
    const balancer = await balance(relayUri);
    const certificateHashes = [certificate.hash, balancer.certificateHash as Uint8Array];
    const client = (who: string) =>
      connect({
        serviceUri: `moqt://127.0.0.1:${balancer.udpPort}/moqt`,
        drafts: [draft],
        connection: { certificateHashes },
        maximumAttempts: 2,
        onEvent: tell(who),
      });
    const [publisher, subscriber] = [client("publisher"), client("subscriber")];
    await transfer(publisher, subscriber);
    await Promise.all([subscriber.close(), publisher.close()]);
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

/**
 * `npm start`: a MoQ-LB on this machine in one step. Makes a development key and store where there
 * are none, publishes the draft's meeting example into an empty store, serves, starts the relays of
 * the example, keeps the snapshot fresh, and prints what to try. Runs on Deno and on Bun.
 */

import process from "node:process";
import { createSigningKey, type Home, hasSigningKey, homeAt } from "../src/cli/home.ts";
import { ensureDevelopmentHome, republish } from "../src/cli/publish.ts";
import { YardmasterError } from "../src/errors.ts";
import {
  type Environment,
  type RunningInstance,
  type SessionAddresses,
  signalled,
} from "../workers/serve.ts";
import { type LocalRelays, publishWithRelays, startRelays } from "./relays.ts";

/** Seconds; the instance of this demo refuses to place requests after an hour without an agent. */
const maximumAge = 3600;

/** An agent publishes at least three times per maximum age, so that quiet times do not go stale. */
const republishEvery = (maximumAge * 1000) / 4;

async function startInstance(
  environment: Environment,
  publish: () => Promise<void>,
): Promise<RunningInstance> {
  const worker = "Deno" in globalThis ? "deno" : "bun";
  const { start } = await import(`../workers/${worker}.ts`);
  return start(environment, publish);
}

/** What the demo brings besides the instance. */
interface Demo {
  readonly relays: LocalRelays;
  /** Version of the snapshot that was published. */
  readonly version: number;
  /** Whether that sends to the relays; a pool of somebody's own is left as it is. */
  readonly usesRelays: boolean;
}

async function prepare(home: Home): Promise<Demo> {
  const { published } = await ensureDevelopmentHome({ home, now: Date.now() });
  const relays = await startRelays(home.directory, ({ relay, type, name }) =>
    console.log(`relay ${relay}: ${type} ${name}`),
  );
  const moved = await publishWithRelays(home, relays.uris, Date.now());
  return { relays, version: (moved ?? published).version, usesRelays: moved !== undefined };
}

function announce(
  { url, sessions }: RunningInstance,
  directory: string,
  { relays, version, usesRelays }: Demo,
): void {
  const yard = process.env.YARDMASTER_YARD ?? "npm run -s yard --";
  // Commands in other terminals do not know the variable.
  const at = process.env.YARDMASTER_HOME ? ` --home ${directory}` : "";
  const service = sessions.quic ?? sessions.webSocket;
  console.log(`
Yardmaster answers on ${url}
  snapshot  version ${version}, maximum age ${maximumAge} s
  home      ${directory} (development key and certificate, local store)
  policy    allow-all: everybody may ask for everything; for development alone

Live MOQT sessions, drafts 18 to 22, come in at
${sessionLines(sessions)}

${usesRelays ? "Three relays that form one network run beside it" : notUsed}
${[...relays.uris.values()].map((uri) => `  ${uri}`).join("\n")}

Try, in this folder and in terminals of their own; example.2ecom is MOQT's text for example.com.
A subscriber that waits, and a publisher; both are sent to the same relay:

  ${yard} sub ${service} example.2ecom-m1 video${at}
  echo hello | ${yard} pub ${service} example.2ecom-m1 video -${at}

Where the track is placed, over HTTP, as a redirect and as the MOQT message:

  curl -si ${url}/redirect/subscribe/example.2ecom-m1--video

  ${yard} encode subscribe example.2ecom-m1--video --binary \\
    | curl -s ${url}/moqt/moqt-22 -H 'content-type: application/octet-stream' --data-binary @- \\
    | ${yard} decode --binary

Why there:

  ${yard} route example.2ecom-m1${at}

Change the pool with \`${yard} publish FILE${at}\`: README.md, Snapshots, shows such a
file. It takes effect within seconds. Each request that a relay gets is printed below; with
YARDMASTER_LOG=json set, each decision and session too. Ctrl-C ends this.
`);
}

const notUsed = "Three relays run beside it that the pool in the store does not name";

function sessionLines(sessions: SessionAddresses): string {
  const { quic, webTransport, webTransportOverTcp, webSocket, certificateHash, stack } = sessions;
  const lines = [
    [quic, `raw QUIC, by ${stack}`],
    [webTransport, "WebTransport over HTTP/3"],
    [webTransportOverTcp, "WebTransport over HTTP/2"],
    [webSocket, "QMux over WebSocket"],
  ].flatMap(([uri, what]) => (uri === undefined ? [] : [`  ${uri.padEnd(36)} ${what}`]));
  if (certificateHash !== undefined) {
    lines.push(`  certificate for development, SHA-256 ${certificateHash}`);
  }
  return lines.join("\n");
}

async function main(): Promise<void> {
  const home = homeAt();
  if (!(await hasSigningKey(home.keys))) {
    await createSigningKey(home.keys);
    console.log(`yardmaster: created a development key in ${home.keys.directory}`);
  }
  let demo: Demo | undefined;
  const settings = {
    YARDMASTER_REFRESH_INTERVAL: "1",
    YARDMASTER_DRAIN_TIMEOUT: "1",
    // UDP beside the TCP of HTTP, under one number.
    YARDMASTER_MOQT_PORT: process.env.PORT || "8787",
    YARDMASTER_DEVELOPMENT_CERTIFICATE: home.directory,
    ...process.env,
    YARDMASTER_MAXIMUM_AGE: String(maximumAge),
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: home.keys.trusted,
    YARDMASTER_STORE: `file:${home.directory}/store`,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${home.directory}/last-known-good`,
  };
  const running = await startInstance(settings, async () => {
    demo = await prepare(home);
  });
  const keepFresh = setInterval(() => {
    republish({ home, now: Date.now() }).catch((error) =>
      console.error(`yardmaster: the snapshot could not be published again: ${error.message}`),
    );
  }, republishEvery);
  announce(running, home.directory, demo as Demo);

  await signalled();
  clearInterval(keepFresh);
  await Promise.all([running.close(), (demo as Demo).relays.close()]);
  process.exit(0);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof YardmasterError)) throw error;
  console.error(`yardmaster: ${error.message}`);
  process.exit(1);
}

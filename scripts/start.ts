/**
 * `npm start`: a MoQ-LB on this machine in one step. Makes a development key and store where there
 * are none, publishes the draft's meeting example into an empty store, serves, starts the relays of
 * the example and the Configuration Agent, and prints what to try. Runs on Deno and on Bun.
 */

import process from "node:process";
import type { RunningAgent } from "../src/agent/run.ts";
import { createSigningKey, type Home, hasSigningKey, homeAt } from "../src/cli/home.ts";
import { ensureDevelopmentHome } from "../src/cli/publish.ts";
import { YardmasterError } from "../src/errors.ts";
import { developmentCertificate, type QuicBackend } from "../src/quic/mod.ts";
import {
  type Environment,
  type RunningInstance,
  type SessionAddresses,
  signalled,
} from "../workers/serve.ts";
import { ensurePeople, instanceId, instanceKeyFile, startAgent } from "./agent.ts";
import { type LocalRelays, publishWithRelays, startRelays } from "./relays.ts";

/** Seconds; the instance of this demo refuses to place requests after an hour without an agent. */
const maximumAge = 3600;

/** Seconds; short, so that what `yard drain` does in proxy mode can be watched. */
const drainDeadline = 5;

/** How far above the HTTP port the agent listens. */
const agentPortOffset = 3;

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
  readonly agent: RunningAgent;
}

async function prepare(home: Home, backend: QuicBackend | undefined): Promise<Demo> {
  const { published } = await ensureDevelopmentHome({ home, now: Date.now() });
  const relays = await startRelays({
    directory: home.directory,
    ...(backend && { backend }),
    onRequest: ({ relay, type, name }) => console.log(`relay ${relay}: ${type} ${name}`),
  });
  const moved = await publishWithRelays(home, relays.uris, Date.now());
  const agent = await startAgent(home, agentPort(), maximumAge * 1000, console.log);
  const version = agent.agent.current?.version ?? (moved ?? published).version;
  return { relays, version, usesRelays: moved !== undefined, agent };
}

/**
 * Proxy mode, on relays of this machine; nothing where this platform, or the user, has no QUIC that
 * keeps the codes of streams.
 */
async function proxySettings(home: Home): Promise<Environment> {
  const { platform, arch, env } = process;
  const isPossible = platform === "linux" && arch === "x64";
  if (!isPossible || env.YARDMASTER_QUIC_BACKEND === "deno") return {};
  // Relays show the certificate that the instance shows.
  const { hashBase64 } = await developmentCertificate({ directory: home.directory });
  return {
    YARDMASTER_PROXY_URIS: "/proxy",
    YARDMASTER_BACKEND_TOKENS: "forward",
    YARDMASTER_DRAIN_DEADLINE: String(drainDeadline),
    YARDMASTER_RELAY_CERTIFICATE_HASHES: hashBase64,
  };
}

/** Beside the HTTP port of the instance; any free one where that is any free one. */
function agentPort(): number {
  const port = Number(process.env.PORT || 8787);
  return port > 0 && port + agentPortOffset <= 65_535 ? port + agentPortOffset : 0;
}

function announce(
  { url, sessions }: RunningInstance,
  directory: string,
  { relays, version, usesRelays, agent }: Demo,
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
${proxyLines(sessions)}
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
${proxyCommands(sessions, yard, at)}
Why there:

  ${yard} route example.2ecom-m1${at}

The Configuration Agent at ${agent.url} probes the relays and publishes what is true.
What it knows, a link to its status page, and a relay that takes nothing new until it is back:

  ${yard} status${at}
  ${yard} login${at}
  ${yard} drain r2${at}
  ${yard} undrain r2${at}

Change the pool with \`${yard} publish FILE${at}\`: README.md, Snapshots, shows such a
file. It takes effect within seconds. Each request that a relay gets is printed below, and each
version; with YARDMASTER_LOG=json set, each decision and session too. Ctrl-C ends this.
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

function proxyLines({ proxy = [] }: SessionAddresses): string {
  const lines = proxy.flatMap(({ quic, webTransport, webSocket }) =>
    [quic, webTransport, webSocket].flatMap((uri) => (uri === undefined ? [] : [`  ${uri}`])),
  );
  return lines.length === 0
    ? ""
    : `and in proxy mode, in the path of every object, at\n${lines.join("\n")}\n`;
}

function proxyCommands(
  { proxy: [first] = [] }: SessionAddresses,
  yard: string,
  at: string,
): string {
  if (first === undefined) return "";
  return `
Through the balancer itself: the subscriber knows of no relay, and goes on from the next group at
another one, within ${drainDeadline} seconds, when its relay is drained while a publisher is at work:

  ${yard} sub ${first.quic ?? first.webSocket} example.2ecom-m1 clock${at}
  while sleep 1; do date; done | ${yard} pub ${first.quic ?? first.webSocket} example.2ecom-m1 clock -${at}
  ${yard} drain r2${at}
`;
}

async function main(): Promise<void> {
  const home = homeAt();
  if (!(await hasSigningKey(home.keys))) {
    await createSigningKey(home.keys);
    console.log(`yardmaster: created a development key in ${home.keys.directory}`);
  }
  await ensurePeople(home);
  let demo: Demo | undefined;
  const proxy = await proxySettings(home);
  const backend = proxy.YARDMASTER_PROXY_URIS === undefined ? undefined : "quiche";
  const settings = {
    YARDMASTER_REFRESH_INTERVAL: "1",
    YARDMASTER_DRAIN_TIMEOUT: "1",
    YARDMASTER_REPORT_INTERVAL: "2",
    // UDP beside the TCP of HTTP, under one number.
    YARDMASTER_MOQT_PORT: process.env.PORT || "8787",
    YARDMASTER_DEVELOPMENT_CERTIFICATE: home.directory,
    ...proxy,
    ...process.env,
    YARDMASTER_MAXIMUM_AGE: String(maximumAge),
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: home.keys.trusted,
    YARDMASTER_STORE: `file:${home.directory}/store`,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${home.directory}/last-known-good`,
    YARDMASTER_INSTANCE_ID: instanceId,
    YARDMASTER_INSTANCE_KEY: instanceKeyFile(home),
    YARDMASTER_REPORT: "store",
  };
  const running = await startInstance(settings, async () => {
    demo = await prepare(home, backend);
  });
  announce(running, home.directory, demo as Demo);

  await signalled();
  const { agent, relays } = demo as Demo;
  // The agent first: it would take relays that close for relays that failed.
  await agent.close();
  await Promise.all([running.close(), relays.close()]);
  process.exit(0);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof YardmasterError)) throw error;
  console.error(`yardmaster: ${error.message}`);
  process.exit(1);
}

/**
 * `npm start`: a MoQ-LB on this machine in one step. Makes a development key and store where there
 * are none, publishes the draft's meeting example into an empty store, serves, starts the relays of
 * the example, keeps the snapshot fresh, and prints what to try. Runs on Deno and on Bun.
 */

import process from "node:process";
import { createSigningKey, hasSigningKey, homeAt } from "../src/cli/home.ts";
import { ensureDevelopmentHome, republish } from "../src/cli/publish.ts";
import { YardmasterError } from "../src/errors.ts";
import {
  type Environment,
  type RunningInstance,
  type SessionAddresses,
  signalled,
} from "../workers/serve.ts";
import { publishWithRelays, startRelays } from "./relays.ts";

/** Seconds; the instance of this demo refuses to place requests after an hour without an agent. */
const maximumAge = 3600;

/** An agent publishes at least three times per maximum age, so that quiet times do not go stale. */
const republishEvery = (maximumAge * 1000) / 4;

async function startInstance(environment: Environment): Promise<RunningInstance> {
  const worker = "Deno" in globalThis ? "deno" : "bun";
  const { start } = await import(`../workers/${worker}.ts`);
  return start(environment);
}

function announce(
  { url, sessions }: RunningInstance,
  directory: string,
  version: number,
  relays: readonly string[],
): void {
  const yard = process.env.YARDMASTER_YARD ?? "npm run -s yard --";
  const service = sessions.quic ?? sessions.webSocket;
  console.log(`
Yardmaster answers on ${url}
  snapshot  version ${version}, maximum age ${maximumAge} s
  home      ${directory} (development key and certificate, local store)
  policy    allow-all: everybody may ask for everything; for development alone

Live MOQT sessions, drafts 18 to 22, come in at
${sessionLines(sessions)}

Three relays that form one network run beside it
${relays.map((uri) => `  ${uri}`).join("\n")}

Try, in other terminals:

  ${yard} sub ${service} example.2ecom-m1 video
  echo hello | ${yard} pub ${service} example.2ecom-m1 video -

  curl -si ${url}/redirect/subscribe/example.2ecom-m1--video

  ${yard} encode subscribe example.2ecom-m1--video --binary \\
    | curl -s ${url}/moqt/moqt-22 -H 'content-type: application/octet-stream' --data-binary @- \\
    | ${yard} decode --binary

  ${yard} route example.2ecom-m1

Change the pool with \`${yard} publish FILE\`; it takes effect within seconds. Ctrl-C ends this.
`);
}

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
  // Publishing comes after listening: a start that fails leaves the store as it was.
  const running = await startInstance({
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
  });
  const { published } = await ensureDevelopmentHome({ home, now: Date.now() });
  const relays = await startRelays(home.directory, ({ relay, type, name }) =>
    console.log(`relay ${relay}: ${type} ${name}`),
  );
  const moved = await publishWithRelays(home, relays.uris, Date.now());
  await running.refresh();
  const keepFresh = setInterval(() => {
    republish({ home, now: Date.now() }).catch((error) =>
      console.error(`yardmaster: the snapshot could not be published again: ${error.message}`),
    );
  }, republishEvery);
  announce(running, home.directory, (moved ?? published).version, [...relays.uris.values()]);

  await signalled();
  clearInterval(keepFresh);
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

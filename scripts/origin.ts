/**
 * `npm run origin`: an origin on this machine to try a gateway with. Makes a certificate for
 * development, serves, and prints what to try. Runs on Bun and on Deno.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import process from "node:process";
import { homeAt } from "../src/cli/home.ts";
import { YardmasterError } from "../src/errors.ts";
import { type OriginServer, serve } from "../src/http2/mod.ts";
import { developmentCertificate } from "../src/quic/mod.ts";
import { signalled } from "../workers/serve.ts";
import { originApp } from "./origin-app.tsx";

const port = Number(process.env.PORT || 9443);

function announce({ url }: OriginServer, certificate: string): void {
  const yard = process.env.YARDMASTER_YARD ?? "npm run -s yard --";
  const gateway = "https://127.0.0.1:8443";
  console.log(`
An origin that takes part in client groups answers on ${url}
  certificate  ${certificate} (self-signed, for development)

Start a gateway in front of it, in this folder and in a terminal of its own. It tells its clients
apart by a field here, so that a client is whoever says so:

  ${yard} gateway --listen 127.0.0.1:8443 --origin ${url} \\
    --origin-ca ${certificate} --client header:x-user

Who are you to the origin? Each client is a number, the same one while the connection lasts:

  curl -sk ${gateway}/whoami -H 'x-user: alice'
  curl -sk ${gateway}/whoami -H 'x-user: mallory'

Three wrong passwords block mallory for a minute: the fourth is answered by the gateway, with 429
and Retry-After. Alice on the same connection notices nothing:

  for i in 1 2 3 4; do curl -ski ${gateway}/login -H 'x-user: mallory' -d password=wrong; done
  curl -sk ${gateway}/login -H 'x-user: alice' -d password=yardmaster

A download of half a minute, and its end from elsewhere:

  curl -k ${gateway}/download -H 'x-user: alice' -o /dev/null
  curl -sk -X POST ${gateway}/stop -H 'x-user: alice'

A connection of her own from the next request on:

  curl -sk -X POST ${gateway}/move -H 'x-user: alice'

Without a gateway nobody has a group:

  curl -s --cacert ${certificate} ${url}/whoami

With a browser: ${url}/ or ${gateway}/. Each request is printed below. Ctrl-C ends this.
`);
}

async function main(): Promise<void> {
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new YardmasterError("INVALID_CONFIGURATION", "PORT has to be a number from 0 to 65535");
  }
  const directory = join(homeAt().directory, "origin");
  const { certificatePem, keyPem } = await developmentCertificate({ directory });
  const certificate = join(directory, "certificate.pem");
  await mkdir(directory, { recursive: true });
  await writeFile(certificate, certificatePem);

  const app = originApp((line) => console.log(line));
  const server = await serve({
    fetch: app.fetch,
    port,
    certificate: certificatePem,
    key: keyPem,
    onError: (error) => console.error("yardmaster:", error),
    limits: { drainTime: 2_000 },
  });
  announce(server, relative("", certificate));
  await signalled();
  await server.close();
  process.exit(0);
}

try {
  await main();
} catch (error) {
  const inUse = (error as { readonly code?: unknown }).code === "EADDRINUSE";
  if (!inUse && !(error instanceof YardmasterError)) throw error;
  const message = inUse
    ? `port ${port} is in use: PORT=${port === 9444 ? 9445 : 9444} takes another`
    : (error as Error).message;
  console.error(`yardmaster: ${message}`);
  process.exit(1);
}

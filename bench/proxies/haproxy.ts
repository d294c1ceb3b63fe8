import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bed, program, programMissing, type ReverseProxy, versionOf } from "./proxy.ts";

/** HAProxy sets two files aside for each, and a process may often have no more than 20,000. */
const maximumConnections = 9900;

function configuration({ port, authority, origin }: Bed, pair: string): string {
  const server =
    origin.scheme === "https"
      ? `ssl verify required ca-file ${authority} sni str(localhost) verifyhost localhost alpn h2`
      : "proto h2";
  return `global
  maxconn ${maximumConnections}
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend clients
  bind 127.0.0.1:${port} ssl crt ${pair} alpn h2,http/1.1
  default_backend origin
backend origin
  server origin 127.0.0.1:${origin.port} ${server}
`;
}

/** HAProxy; connections to the origin are shared among clients (`http-reuse always`). */
export const haproxy: ReverseProxy = {
  name: "HAProxy",
  missing: () => programMissing("haproxy"),
  version: () => versionOf(program("haproxy") as string, "-v"),
  launch(bed) {
    const pair = join(bed.directory, "pair.pem");
    writeFileSync(pair, readFileSync(bed.certificate, "utf8") + readFileSync(bed.key, "utf8"));
    const file = join(bed.directory, "haproxy.cfg");
    writeFileSync(file, configuration(bed, pair));
    return { command: [program("haproxy") as string, "-db", "-f", file] };
  },
};

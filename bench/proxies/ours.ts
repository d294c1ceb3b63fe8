import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../test/bun/processes.ts";
import { type Runtime, runtimes } from "./bare.ts";
import { type Bed, type ReverseProxy, versionOf } from "./proxy.ts";

const yard = join(root, "src", "cli", "yard.ts");

function configuration({ port, certificate, key, authority, origin }: Bed): object {
  const url = `${origin.scheme === "https" ? "https" : "h2c"}://127.0.0.1:${origin.port}`;
  const trust = origin.scheme === "https" ? { ca: authority, serverName: "localhost" } : {};
  return {
    listen: [{ address: `127.0.0.1:${port}`, certificate, key }],
    origins: [{ origin: url, ...trust }],
    client: "connection",
  };
}

/** `yard gateway` as its defaults are; each client connection is a client. */
export function ours(runtime: Runtime): ReverseProxy {
  return {
    name: `yard gateway, ${runtime}`,
    missing: () => undefined,
    version: () =>
      `of this tree, on ${runtime} ${versionOf(runtimes[runtime][0] as string, "--version")}`,
    launch(bed) {
      const file = join(bed.directory, "gateway.json");
      writeFileSync(file, JSON.stringify(configuration(bed)));
      return { command: [...runtimes[runtime], yard, "gateway", "--config", file] };
    },
  };
}

import { join } from "node:path";
import { bun, deno } from "../../test/bun/processes.ts";
import { type ReverseProxy, versionOf } from "./proxy.ts";

export type Runtime = "Bun" | "Deno";

/** The command that runs a script of ours. */
export const runtimes: Readonly<Record<Runtime, readonly string[]>> = {
  Bun: [bun],
  Deno: [deno, "run", "-A", "--quiet"],
};

/** A bare node:http2 proxy, as it is, or with a FrameTap or an empty Duplex under each of its connections. */
export function bare(runtime: Runtime, kind: "untapped" | "piped" | "tapped"): ReverseProxy {
  return {
    name: `node:http2 ${kind}, ${runtime}`,
    missing: () => undefined,
    version: () => versionOf(runtimes[runtime][0] as string, "--version"),
    launch: ({ port, certificate, key, authority, origin }) => ({
      command: [
        ...runtimes[runtime],
        join(import.meta.dir, "bare-http2.ts"),
        String(port),
        certificate,
        key,
        authority,
        `${origin.scheme}://localhost:${origin.port}`,
        kind,
      ],
    }),
  };
}

import { join } from "node:path";
import manifest from "../../node_modules/@fastify/reply-from/package.json" with { type: "json" };
import { program, type ReverseProxy, versionOf } from "./proxy.ts";

/** @fastify/reply-from on Node, where it is faster than on Bun. */
export const replyFrom: ReverseProxy = {
  name: "reply-from",
  missing: () => (program("node") === undefined ? "no Node on this machine" : undefined),
  version: () =>
    `@fastify/reply-from ${manifest.version} on Node ${versionOf(program("node") as string, "--version")}`,
  launch: ({ port, certificate, key, authority, origin }) => ({
    command: [
      program("node") as string,
      join(import.meta.dir, "reply-from-server.mjs"),
      String(port),
      certificate,
      key,
      authority,
      `${origin.scheme}://localhost:${origin.port}`,
    ],
  }),
};

/**
 * The table of commands. A command is loaded only when it is asked for, so that `yard decode` does
 * not wait for what `yard publish` needs.
 *
 * @module
 */

import type { Command } from "./command.ts";

export interface CommandEntry {
  readonly summary: string;
  load(): Promise<Command>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  keygen: {
    summary: "create the key that signs snapshots, or rotate it",
    load: async () => (await import("./commands/keygen.ts")).keygen,
  },
  validate: {
    summary: "check a snapshot and list every problem",
    load: async () => (await import("./commands/validate.ts")).validate,
  },
  publish: {
    summary: "sign a snapshot and publish it in the local store",
    load: async () => (await import("./commands/publish.ts")).publish,
  },
  route: {
    summary: "show which relay a namespace is placed on, and why",
    load: async () => (await import("./commands/route.ts")).route,
  },
  encode: {
    summary: "write a MOQT request as bytes",
    load: async () => (await import("./commands/encode.ts")).encode,
  },
  decode: {
    summary: "read a MOQT control message from bytes",
    load: async () => (await import("./commands/decode.ts")).decode,
  },
  sub: {
    summary: "subscribe to a track and print its objects",
    load: async () => (await import("./commands/sub.ts")).sub,
  },
  pub: {
    summary: "publish a file or standard input as a track",
    load: async () => (await import("./commands/pub.ts")).pub,
  },
  namespaces: {
    summary: "watch which namespaces are published under a prefix",
    load: async () => (await import("./commands/namespaces.ts")).namespaces,
  },
};

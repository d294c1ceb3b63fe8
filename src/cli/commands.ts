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
    summary: "create the key that signs snapshots, an operator's or an instance's, or rotate it",
    load: async () => (await import("./commands/keygen.ts")).keygen,
  },
  validate: {
    summary: "check a pool or snapshot and list every problem",
    load: async () => (await import("./commands/validate.ts")).validate,
  },
  publish: {
    summary: "publish a pool through the agent, or sign it into the local store",
    load: async () => (await import("./commands/publish.ts")).publish,
  },
  rollback: {
    summary: "publish the contents of an earlier version again",
    load: async () => (await import("./commands/rollback.ts")).rollback,
  },
  drain: {
    summary: "take a relay out of placement, planned",
    load: async () => (await import("./commands/drain.ts")).drain,
  },
  undrain: {
    summary: "let a drained relay be placed on again",
    load: async () => (await import("./commands/undrain.ts")).undrain,
  },
  weight: {
    summary: "set the weight of a relay on hashed routes",
    load: async () => (await import("./commands/weight.ts")).weight,
  },
  health: {
    summary: "fix the health of a relay, whatever probes say",
    load: async () => (await import("./commands/health.ts")).health,
  },
  status: {
    summary: "show relays, instances that follow, and alarms",
    load: async () => (await import("./commands/status.ts")).status,
  },
  history: {
    summary: "show published versions, who asked for them and what changed",
    load: async () => (await import("./commands/history.ts")).history,
  },
  diff: {
    summary: "show what differs between two versions or files",
    load: async () => (await import("./commands/diff.ts")).diff,
  },
  simulate: {
    summary: "show which share of keys relays get, and which keys a change moves",
    load: async () => (await import("./commands/simulate.ts")).simulate,
  },
  gateway: {
    summary: "share connections to HTTP/2 origins among clients, and obey GROUP_CONTROL",
    load: async () => (await import("./commands/gateway.ts")).gateway,
  },
  agent: {
    summary: "run the Configuration Agent",
    load: async () => (await import("./commands/agent.ts")).agent,
  },
  login: {
    summary: "print a link that signs a browser in to the agent's pages",
    load: async () => (await import("./commands/login.ts")).login,
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

/** A balancer in redirect mode, and ways for clients to get at it, for scenarios of its sessions. */

import assert from "node:assert/strict";
import { utf8 } from "../../src/bytes.ts";
import {
  createRedirectServer,
  type RedirectServer,
  type RedirectServerOptions,
  type RedirectSessionEvent,
} from "../../src/moq-lb/mod.ts";
import {
  type Draft,
  draftName,
  encodeControlMessage,
  type MessageParameter,
  type RequestErrorName,
  type RequestType,
  requestErrorCodes,
  requestMessage,
} from "../../src/moqt/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../src/snapshot/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { ManualClock } from "./manual-clock.ts";
import { RawPeer } from "./raw-peer.ts";

/** How clients reach a server: what a transport's test file brings. */
export interface Listening {
  /** Connects a client that offers `protocol` alone. */
  connect(protocol: string): Promise<Transport>;
  close(): Promise<void>;
}

export type Listen = (server: RedirectServer) => Listening | Promise<Listening>;

/** Milliseconds since 1970 at which the snapshots of the scenarios are a minute old. */
export const today = 1_800_000_000_000;

/** Serves at `moqt://lb:4443/moq`, as the vectors address it. */
const ownServiceUris = ["moqt://lb:4443/moq"];

export interface BedOptions extends Partial<Omit<RedirectServerOptions, "holder" | "clock">> {
  readonly active?: ActiveSnapshot | undefined;
}

/** A relay of JSON, at the URI of the vectors. */
function relay(rid: string, health = "healthy") {
  return { rid, uri: `moqt://${rid}.example:4443/moq`, health };
}

/** A snapshot in force that sends (live) to `rid` and (ops) to r1. */
export function liveAt(rid: string, version = 1): ActiveSnapshot {
  const snapshot = parseSnapshot({
    version,
    relays: [relay("r1"), relay("r2"), relay("r3", "unhealthy")],
    routes: [
      { prefix: ["live"], kind: "static", rid },
      { prefix: ["ops"], kind: "static", rid: "r1" },
      { prefix: [".catalog"], kind: "static", rid: "r1" },
    ],
  });
  return { snapshot, signedAt: today - 60_000, maximumAge: 600_000, digest: "00" };
}

export class RedirectBed {
  readonly clock = new ManualClock();
  readonly server: RedirectServer;
  readonly events: RedirectSessionEvent[] = [];
  /** The snapshot in force; tests replace it. */
  readonly holder: { active: ActiveSnapshot | undefined };
  #listening: Listening | undefined;
  #lookForClosed: (() => void) | undefined;

  constructor(options: BedOptions = {}) {
    this.holder = { active: "active" in options ? options.active : liveAt("r2") };
    this.server = createRedirectServer({
      authorization: "allow-all",
      now: () => today,
      random: () => 0.5,
      ownServiceUris,
      onSession: (event) => {
        this.events.push(event);
        this.#lookForClosed?.();
      },
      ...options,
      holder: this.holder,
      clock: this.clock,
    });
  }

  async listen(listen: Listen): Promise<void> {
    this.#listening = await listen(this.server);
  }

  /** A client without a word said. */
  async connect(draft: Draft = 22): Promise<RawPeer> {
    assert.ok(this.#listening);
    return new RawPeer(await this.#listening.connect(draftName(draft)));
  }

  /** A client that has sent an empty SETUP. */
  async client(draft: Draft = 22): Promise<RawPeer> {
    const peer = await this.connect(draft);
    await peer.setup();
    return peer;
  }

  /** Waits until as many sessions have ended, of all that there were. */
  async ended(sessions: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lookForClosed = () => {
      if (this.events.filter(({ type }) => type === "closed").length >= sessions) resolve();
    };
    this.#lookForClosed();
    await promise;
  }

  async close(): Promise<void> {
    await this.#listening?.close();
  }
}

/** The bytes of a request; `name` in text form. */
export function requestBytes(
  type: RequestType,
  name: string,
  details: { draft?: Draft; requestId?: bigint; parameters?: readonly MessageParameter[] } = {},
): Uint8Array {
  const { draft = 22, requestId = 0n, parameters = [] } = details;
  const message = requestMessage(type, { name, draft, requestId, parameters });
  return encodeControlMessage(message, draft);
}

/** The SUBSCRIBE with this Request ID, for a track that the snapshot of the bed sends to r2. */
export function subscribeBytes(requestId = 0, parameters: readonly MessageParameter[] = []) {
  return requestBytes("SUBSCRIBE", "live--v", { requestId: BigInt(requestId), parameters });
}

/** A token parameter that registers, or uses, an alias. */
export function tokenParameter(
  alias: number,
  value?: string,
): Extract<MessageParameter, { type: "AUTHORIZATION_TOKEN" }> {
  return {
    type: "AUTHORIZATION_TOKEN",
    token:
      value === undefined
        ? { aliasType: "USE_ALIAS", alias: BigInt(alias) }
        : { aliasType: "REGISTER", alias: BigInt(alias), tokenType: 0n, tokenValue: utf8(value) },
  };
}

/** Asserts that a SUBSCRIBE for (live) is redirected to `rid`: the session is alive and well. */
export async function assertServes(peer: RawPeer, requestId: number, rid = "r2"): Promise<void> {
  const { errorCode, redirect } = await peer.refusal(subscribeBytes(requestId));
  assert.equal(errorCode, requestErrorCodes.REDIRECT);
  assert.equal(redirect?.connectUri, `moqt://${rid}.example:4443/moq`);
}

/** Asserts that these bytes of a request are refused with `code`. */
export async function assertRefused(
  peer: RawPeer,
  bytes: string | Uint8Array,
  code: RequestErrorName,
): Promise<void> {
  const { errorCode, redirect } = await peer.refusal(bytes);
  const [name] = Object.entries(requestErrorCodes).find(([, number]) => number === errorCode) ?? [];
  assert.equal(name, code);
  assert.equal(redirect, undefined);
}

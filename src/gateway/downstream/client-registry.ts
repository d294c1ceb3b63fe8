/**
 * The clients that the gateway knows: one object each, for as long as anything is known of it, since
 * identifiers and restrictions hang on it.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { toHex, utf8 } from "../../bytes.ts";
import type { GatewayClient } from "../types.ts";

export interface ClientRegistryOptions {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Whether something is known of a client that must not be forgotten: BLOCK, LIMIT, being alone. */
  readonly isRestricted: (client: GatewayClient) => boolean;
  /** A client is gone for good: its identifiers go too. It has no request in progress. */
  readonly forget: (client: GatewayClient) => void;
  /** The most clients that are known by a name. Default 100,000. */
  readonly most?: number;
  /** Milliseconds without a request until one is forgotten. Default 600,000. */
  readonly idleTime?: number;
}

interface Entry {
  readonly client: GatewayClient;
  /** Requests in progress. */
  uses: number;
  lastUse: number;
}

export class ClientRegistry {
  readonly #options: Required<ClientRegistryOptions>;
  /** Least recently used first. */
  readonly #named = new Map<string, Entry>();
  readonly #entries = new Map<GatewayClient, Entry>();
  /** Clients that were connections, and are only waited for. */
  readonly #departed = new Set<Entry>();

  constructor(options: ClientRegistryOptions) {
    this.#options = { most: 100_000, idleTime: 600_000, ...options };
  }

  /** How many clients are known. */
  get size(): number {
    return this.#entries.size;
  }

  /** A client that is one connection. It is known until {@link depart}. */
  connection(key: string): GatewayClient {
    return this.#add(key).client;
  }

  /** A connection has ended: nobody will be this client again. */
  depart(client: GatewayClient): void {
    const entry = this.#entries.get(client);
    if (entry === undefined) return;
    if (entry.uses === 0) this.#remove(entry);
    else this.#departed.add(entry);
  }

  /**
   * The client of that name.
   *
   * @returns `undefined` where there are as many as there may be, and none that could be forgotten: so
   *   that nobody sheds a restriction by making the gateway forget it
   */
  named(key: string): GatewayClient | undefined {
    const known = this.#named.get(key);
    if (known !== undefined) return known.client;
    if (this.#named.size >= this.#options.most && !this.#makeRoom()) return undefined;
    const entry = this.#add(key);
    this.#named.set(key, entry);
    return entry.client;
  }

  /** A request of the client begins. */
  start(client: GatewayClient): void {
    const entry = this.#entries.get(client);
    if (entry !== undefined) entry.uses++;
  }

  /** A request of the client has ended. */
  end(client: GatewayClient): void {
    const entry = this.#entries.get(client);
    if (entry === undefined) return;
    entry.uses--;
    entry.lastUse = this.#options.now();
    if (entry.uses > 0) return;
    if (this.#departed.delete(entry)) this.#remove(entry);
    else if (this.#named.delete(client.key)) this.#named.set(client.key, entry);
  }

  /** Forgets clients that have made no request for long, unless they are restricted. */
  sweep(): void {
    const before = this.#options.now() - this.#options.idleTime;
    for (const entry of this.#named.values()) {
      if (entry.lastUse > before) break;
      if (this.#mayGo(entry)) this.#remove(entry);
    }
  }

  /** The least recently used that may go goes. Only so many are asked: each request may come here. */
  #makeRoom(): boolean {
    let asked = 0;
    for (const entry of this.#named.values()) {
      if (this.#mayGo(entry)) {
        this.#remove(entry);
        return true;
      }
      if (++asked === 16) return false;
    }
    return false;
  }

  #mayGo({ uses, client }: Entry): boolean {
    return uses === 0 && !this.#options.isRestricted(client);
  }

  #add(key: string): Entry {
    const digest = toHex(sha256(utf8(key))).slice(0, 16);
    const entry = { client: { key, digest }, uses: 0, lastUse: this.#options.now() };
    this.#entries.set(entry.client, entry);
    return entry;
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.client);
    this.#named.delete(entry.client.key);
    this.#options.forget(entry.client);
  }
}

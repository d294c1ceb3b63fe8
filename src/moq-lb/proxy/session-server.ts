/**
 * A server of live sessions in both modes: proxy mode at its own addresses, redirect mode elsewhere
 * (LB-KEY-6).
 *
 * @module
 */

import { tell } from "../../hook.ts";
import { ConfigurationError } from "../configuration-error.ts";
import { ExactAddresses } from "../service.ts";
import { sessionLimits } from "../session-limits.ts";
import {
  LiveSessions,
  type RedirectServer,
  type RedirectServerOptions,
  type RedirectServerStatus,
} from "../session-server.ts";
import { type ProxyHooks, ProxyMode, type ProxyStatus } from "./proxy-mode.ts";
import type { ProxyOptions } from "./proxy-options.ts";
import type { PoolCapabilities } from "./relays/capabilities.ts";
import type { LocalHealth } from "./relays/health-view.ts";
import type { RelayMismatch } from "./relays/relays.ts";

export interface SessionServerOptions extends RedirectServerOptions {
  readonly proxy: ProxyOptions &
    ProxyHooks & {
      /**
       * Where sessions are served in proxy mode: absolute https or moqt URIs, or paths such as
       * `/proxy`, which count at every authority. What is served elsewhere is in redirect mode.
       */
      readonly uris: readonly string[];
    };
}

export interface SessionServer extends RedirectServer {
  /** What this instance sees of relays by itself, for its reports (LB-HEALTH-9). */
  readonly localHealth: readonly LocalHealth[];
  /** Relays that do not fit their pool, for its reports (LB-PSETUP-12). */
  readonly mismatches: readonly RelayMismatch[];
  /**
   * To be called when another snapshot is in force: sessions in proxy mode move what it displaces
   * (LB-DISPL-1, LB-DISPL-2).
   */
  activated(): void;
  /**
   * What is promised to clients of proxy mode for the pool in force (LB-PSETUP-2).
   *
   * @throws {CapabilitiesError} nothing can be promised, and no session is served (LB-PSETUP-3)
   */
  capabilities(): PoolCapabilities;
  status(): SessionServerStatus;
}

export interface SessionServerStatus extends RedirectServerStatus {
  readonly proxy: ProxyStatus;
}

/**
 * Both modes for live sessions, whatever they come over.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function createSessionServer(options: SessionServerOptions): SessionServer {
  const { uris } = options.proxy;
  if (uris.length === 0)
    throw new ConfigurationError("proxy.uris is empty: say where it is served");
  const addresses = new ExactAddresses("proxy.uris", uris);
  const ownServiceUris = [
    ...(options.ownServiceUris ?? []),
    ...uris.filter((uri) => !uri.startsWith("/")),
  ];
  const mode = new ProxyMode({
    ...options,
    ownServiceUris,
    implementation: options.implementation ?? "yardmaster",
    tokenCacheSize: sessionLimits(options.limits).tokenCacheSize,
    onError: (error) => tell(options.onError, error),
  });
  return new BothModes(options, mode, addresses, ownServiceUris);
}

class BothModes extends LiveSessions implements SessionServer {
  readonly #proxy: ProxyMode;

  constructor(
    options: RedirectServerOptions,
    mode: ProxyMode,
    addresses: ExactAddresses,
    ownServiceUris: readonly string[],
  ) {
    super(options, { mode, addresses }, ownServiceUris);
    this.#proxy = mode;
  }

  get localHealth(): readonly LocalHealth[] {
    return this.#proxy.localHealth;
  }

  get mismatches(): readonly RelayMismatch[] {
    return this.#proxy.mismatches;
  }

  activated(): void {
    this.#proxy.activated();
  }

  capabilities(): PoolCapabilities {
    return this.#proxy.capabilities();
  }

  override status(): SessionServerStatus {
    return { ...super.status(), proxy: this.#proxy.status() };
  }
}

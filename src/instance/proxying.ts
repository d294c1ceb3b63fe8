/**
 * Proxy mode from settings. It needs QUIC that keeps the codes of streams, which not every runtime
 * has, so that this is no part of `mod.ts`.
 *
 * @module
 */

import {
  type BackendTokens,
  ConfigurationError,
  createSessionServer,
  type DialRelay,
  identityTokens,
  type ProxyHooks,
  type RedirectServerOptions,
  type SessionServer,
} from "../moq-lb/mod.ts";
import { importSigningKey, SnapshotError } from "../snapshot/mod.ts";
import { dial } from "../transport/dial.ts";
import type { BackendTokenSettings, ProxySettings } from "./proxy-settings.ts";

/**
 * A server of sessions in both modes.
 *
 * @throws {ConfigurationError} naming the setting
 */
export async function createProxyServer(
  settings: ProxySettings,
  options: RedirectServerOptions & { readonly hooks: ProxyHooks },
): Promise<SessionServer> {
  const { hooks, ...shared } = options;
  const { uris, drainDeadline, limits, backendTokens } = settings;
  return createSessionServer({
    ...shared,
    proxy: {
      uris,
      drainDeadline,
      limits,
      backendTokens: await backendTokensFrom(backendTokens, options.now),
      dial: relayDial(settings),
      ...hooks,
    },
  });
}

/**
 * Streams of each kind that a relay may have open: each move stops some, whose places come back when
 * the relay has seen that.
 */
const streamsOfRelay = 1000;

/** Relays are reached by the stack with exact codes alone; HTTP/2, a last resort, has no datagrams. */
function relayDial(settings: ProxySettings): DialRelay {
  const { relayCa: ca, relayCertificateHashes: certificateHashes } = settings;
  return (uri, { draft, bearerToken, signal }) =>
    dial(uri, {
      drafts: [draft],
      backend: "quiche",
      streams: streamsOfRelay,
      signal,
      ...(bearerToken !== undefined && { bearerToken }),
      ...(ca !== undefined && { ca }),
      ...(certificateHashes && { certificateHashes }),
    });
}

/** @throws {ConfigurationError} naming the setting, and nothing of the key */
async function backendTokensFrom(
  settings: BackendTokenSettings,
  now: (() => number) | undefined,
): Promise<BackendTokens> {
  if (settings.policy !== "identity") return settings.policy;
  const { issuer, lifetime } = settings;
  let jwk: unknown;
  try {
    jwk = JSON.parse(settings.key);
  } catch {
    throw new ConfigurationError("YARDMASTER_IDENTITY_KEY is not JSON");
  }
  try {
    const key = await importSigningKey(jwk);
    return identityTokens({ key, issuer, lifetime, ...(now && { now }) });
  } catch (cause) {
    if (!(cause instanceof SnapshotError)) throw cause;
    throw new ConfigurationError(`YARDMASTER_IDENTITY_KEY: ${cause.message}`, { cause });
  }
}

/**
 * What the SETUP messages of a session agree on.
 *
 * @module
 */

import { MoqtError } from "../errors.ts";
import type { Setup } from "../message.ts";
import type { Endpoint } from "../peer-checks.ts";
import type { SetupOption, SetupOptionName } from "../setup-option.ts";
import type { TokenCache, TokenValue } from "./token-cache.ts";
import { isAuthority, isPath } from "./uri-syntax.ts";
import { SessionUseError } from "./use-error.ts";

/**
 * What a session runs on. Only on raw QUIC does a client say in SETUP which path and authority it
 * wants; a WebTransport session has them from its CONNECT request.
 */
export type SessionTransport = "quic" | "webtransport";

/** The peer's side of the agreement. */
export interface PeerSetup {
  /** All of them, those that mean nothing here included. */
  readonly options: readonly SetupOption[];
  /** With its query; absent where the peer sent none, as on WebTransport. */
  readonly path?: string;
  readonly authority?: string;
  /** Chosen by the peer, for people to read. */
  readonly implementation?: string;
  readonly tokens: readonly TokenValue[];
  /** Bytes that our token aliases may take at the peer. */
  readonly maxAuthTokenCacheSize: bigint;
  /** Ranges that our filters may have; 0: none at all. */
  readonly maxFilterRanges: bigint;
  /** Updates that we may have unanswered on one request; 0: any number. */
  readonly maxRequestUpdates: bigint;
}

/**
 * Checks the SETUP of the endpoint `from`, and applies its tokens.
 *
 * @param tokens what `from` registers at us
 * @throws {MoqtError} INVALID_PATH or INVALID_AUTHORITY for an option that cannot be there,
 *   MALFORMED_PATH or MALFORMED_AUTHORITY for one that is no part of a URI,
 *   DUPLICATE_AUTH_TOKEN_ALIAS
 */
export function readPeerSetup(
  { options }: Setup,
  from: Endpoint,
  transport: SessionTransport,
  tokens: TokenCache,
): PeerSetup {
  const path = textOf(options, "PATH");
  const authority = textOf(options, "AUTHORITY");
  const implementation = textOf(options, "MOQT_IMPLEMENTATION");
  const fault = misplaced(path, authority, from, transport) ?? malformed(path, authority);
  if (fault !== undefined) throw fault;
  return {
    options,
    ...(path === undefined ? {} : { path }),
    ...(authority === undefined ? {} : { authority }),
    ...(implementation === undefined ? {} : { implementation }),
    tokens: options.flatMap((option) =>
      option.type === "AUTHORIZATION_TOKEN" ? (tokens.resolveInSetup(option.token) ?? []) : [],
    ),
    maxAuthTokenCacheSize: integerOf(options, "MAX_AUTH_TOKEN_CACHE_SIZE"),
    maxFilterRanges: integerOf(options, "MAX_FILTER_RANGES"),
    maxRequestUpdates: integerOf(options, "MAX_REQUEST_UPDATES"),
  };
}

/**
 * Checks the options that we are about to send.
 *
 * @throws {SessionUseError} INVALID_OPTIONS
 */
export function checkOwnSetup(
  options: readonly SetupOption[],
  role: Endpoint,
  transport: SessionTransport,
): void {
  const path = textOf(options, "PATH");
  const authority = textOf(options, "AUTHORITY");
  const fault = misplaced(path, authority, role, transport) ?? malformed(path, authority);
  if (fault !== undefined) throw new SessionUseError("INVALID_OPTIONS", fault.message);
}

function misplaced(
  path: string | undefined,
  authority: string | undefined,
  from: Endpoint,
  transport: SessionTransport,
): MoqtError | undefined {
  if (from === "client" && transport === "quic") return undefined;
  const where = from === "server" ? "from a server" : "over WebTransport";
  if (path !== undefined) return new MoqtError("INVALID_PATH", `SETUP ${where} has a PATH`);
  if (authority === undefined) return undefined;
  return new MoqtError("INVALID_AUTHORITY", `SETUP ${where} has an AUTHORITY`);
}

function malformed(path: string | undefined, authority: string | undefined): MoqtError | undefined {
  if (path !== undefined && !isPath(path)) {
    return new MoqtError("MALFORMED_PATH", "PATH is not the path of a URI");
  }
  if (authority !== undefined && !isAuthority(authority)) {
    return new MoqtError("MALFORMED_AUTHORITY", "AUTHORITY is not the authority of a URI");
  }
  return undefined;
}

type OptionWith<Value> = Extract<
  SetupOption,
  { readonly type: SetupOptionName; readonly value: Value }
>;

function textOf(
  options: readonly SetupOption[],
  name: OptionWith<string>["type"],
): string | undefined {
  return options.find((option): option is OptionWith<string> => option.type === name)?.value;
}

/** The integer of an option; 0, the default of all of them, where it is not there. */
export function integerOf(
  options: readonly SetupOption[],
  name: OptionWith<bigint>["type"],
): bigint {
  return options.find((option): option is OptionWith<bigint> => option.type === name)?.value ?? 0n;
}

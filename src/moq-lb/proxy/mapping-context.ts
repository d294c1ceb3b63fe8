/**
 * What the requests of one client session share, whatever carries them.
 *
 * @module
 */

import type {
  MessageParameter,
  RequestError,
  RequestErrorName,
  RoutableRequest,
  TokenValue,
} from "../../moqt/mod.ts";
import type { Clock, MoqtSession, RequestGoaway } from "../../session/mod.ts";
import type { Aliases } from "./aliases.ts";
import type { DataPlane } from "./data/delivery.ts";
import type { Mapping } from "./mapping.ts";
import type { ProxyLimits } from "./proxy-options.ts";
import type { Backend } from "./relays/backend.ts";

export interface MappingContext {
  readonly client: MoqtSession;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: ProxyLimits;
  readonly data: DataPlane;
  readonly aliases: Aliases;
  /**
   * The parameters of a message of the client as the relay gets them: all as they came but the
   * tokens, which are those that the relay is to see (LB-A20).
   *
   * @throws RefusedRequest where the relay has not agreed to what they ask for
   * @param request the request that the message makes or updates
   * @param tokens those of the message, aliases resolved
   */
  parametersFor(
    backend: Backend,
    request: RoutableRequest,
    parameters: readonly MessageParameter[],
    tokens: readonly TokenValue[],
  ): readonly MessageParameter[] | Promise<readonly MessageParameter[]>;
  /**
   * Judges an update that the client sends before it goes on: it may not widen what the client was
   * let in for (LB-S124).
   *
   * @returns why it is refused, if it is
   */
  judgeUpdate(
    mapping: Mapping,
    parameters: readonly MessageParameter[],
    tokens: readonly TokenValue[],
  ): RequestError | undefined | Promise<RequestError | undefined>;
  /** A REQUEST_ERROR of ours; with a retry where the code lets the client retry. */
  refusal(code: RequestErrorName): RequestError;
  /** The refusal of a relay as the client gets it: unchanged, but no REDIRECT (LB-A7). */
  refusalBy(backend: Backend, error: RequestError): RequestError;
  /** The REQUEST_ERROR for a request that could not be made at a relay. */
  failureOf(error: unknown): RequestError;
  /** A relay wants one request to be made elsewhere. */
  onRelayGoaway(mapping: Mapping, goaway: RequestGoaway): void;
}

/**
 * Proxy mode for one client session: each request goes to the relay that the table selects for it,
 * over a session of its own there, and what a relay asks for goes to the client.
 *
 * @module
 */

import { isPromise, tell } from "../../hook.ts";
import {
  hasPrefix,
  type JoiningFetch,
  type ObjectDatagram,
  type PeerSetup,
  type RequestErrorName,
  type RoutableRequest,
  requestErrorCodes,
  requestTrackName,
  routingKey,
  type TrackNamespace,
} from "../../moqt/mod.ts";
import { isReserved, jitteredRetryInterval } from "../../routing/mod.ts";
import type {
  Clock,
  IncomingDataStream,
  IncomingRequest,
  MoqtSession,
  SessionClose,
  SessionGoaway,
} from "../../session/mod.ts";
import type { ActiveSnapshot } from "../../snapshot/mod.ts";
import type { Admission, Requester, Target } from "../admission.ts";
import { type Rejection, toRequestError } from "../decision.ts";
import type { AuthorizationToken } from "../tokens.ts";
import { Aliases } from "./aliases.ts";
import { type BackendRequester, requestCredentials } from "./backend-credentials.ts";
import { type Carriage, CarriedRequest } from "./carried-request.ts";
import { createDataPlane } from "./data/data-plane.ts";
import type { DataCounts, DataPlane } from "./data/delivery.ts";
import { findJoined, isJoining, joinedAs } from "./joining.ts";
import type { KeptMapping, Mapping } from "./mapping.ts";
import type { MappingContext } from "./mapping-context.ts";
import { ClientSubscription } from "./moving/client-subscription.ts";
import { type Destination, type MoveEvent, Mover } from "./moving/mover.ts";
import { parameterFault, withTokens } from "./parameters.ts";
import { Placer } from "./placer.ts";
import { overlapsElsewhere } from "./prefix-overlap.ts";
import type { BackendTokens, ProxyLimits } from "./proxy-options.ts";
import { RefusedRequest, refusalFor } from "./refused-request.ts";
import type { Backend, BackendHandlers } from "./relays/backend.ts";
import { noCredentials } from "./relays/failure.ts";
import type { HealthView } from "./relays/health-view.ts";
import type { Relays, SessionRelays } from "./relays/relays.ts";
import { inTime } from "./waiting.ts";

/** What all client sessions of a server share. */
export interface ProxyContext {
  readonly admission: Admission;
  readonly health: HealthView;
  readonly relays: Pick<Relays, "forSession">;
  readonly backendTokens: BackendTokens;
  readonly limits: ProxyLimits;
  /** Milliseconds until what is displaced has left its relay (LB-DISPL-3). */
  readonly drainDeadline: number;
  /** Whether a SUBSCRIBE is made again by the balancer (LB-PMOVE-19). */
  readonly reissues: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds since 1970, for the age of the configuration. */
  readonly now: () => number;
  /** Mean of the milliseconds after which a client may retry. */
  readonly retryAfter: number;
  readonly ownServiceUris: readonly string[];
  /** A relay has answered REDIRECT, which is not for it to say (LB-A7). */
  readonly onRelayRedirect?: (rid: string) => void;
  /** A request of the client was placed, or may not be. */
  readonly onPlaced?: (placed: Placed) => void;
  /** A request was refused for want of room (LB-PSETUP-18). */
  readonly onFull?: () => void;
  /** A displaced request has left its relay, or is about to. */
  readonly onMove?: (event: MoveEvent) => void;
}

/** What became of one request of a client. */
export interface Placed {
  readonly request: RoutableRequest;
  readonly destination: Destination | Rejection;
  /** Milliseconds from the request to that. */
  readonly duration: number;
}

export interface ProxiedCounts {
  /** Requests that are carried now, those of relays included (LB-PMAP-1). */
  readonly mappings: number;
  /** Requests of the client that wait to be let in. */
  readonly waiting: number;
  /** Sessions to relays. */
  readonly backends: number;
  /** Namespaces that are bound to a relay. */
  readonly affinities: number;
  /** Requests that are to leave their relay. */
  readonly displaced: number;
  readonly data: DataCounts;
}

export class ProxiedSession {
  readonly #session: MoqtSession;
  readonly #requester: () => Requester;
  readonly #proxy: ProxyContext;
  readonly #context: MappingContext;
  readonly #data: DataPlane;
  readonly #mappings = new Set<KeptMapping>();
  readonly #placer: Placer;
  /** For each mapping, what says that its namespace needs its relay no more. */
  readonly #bindings = new Map<Mapping, () => void>();
  readonly #mover: Mover;
  /** There once the client's SETUP is. */
  #relays: SessionRelays | undefined;
  readonly #isSetUp: Promise<void>;
  /** Requests of the client that are not placed yet, by their Request ID. */
  readonly #waiting = new Map<bigint, Promise<void>>();
  #clientLeaves = false;
  #isClosed = false;
  readonly #unsubscribe: () => void;

  /**
   * @param session the client's, which the caller runs
   * @param requester who the client is, complete once its SETUP is there
   */
  constructor(session: MoqtSession, requester: () => Requester, proxy: ProxyContext) {
    const { clock, random, limits, health, drainDeadline, reissues } = proxy;
    this.#session = session;
    this.#requester = requester;
    this.#proxy = proxy;
    const { maximumAffinities } = limits;
    this.#placer = new Placer({ ...proxy, maximumAffinities });
    this.#data = createDataPlane({ clientSession: session, clock, limits });
    // Its objects may overtake its PUBLISH.
    this.#data.expect(session);
    this.#isSetUp = session.setup.then((setup) => setup && this.#prepare(setup));
    this.#context = {
      client: session,
      clock,
      random,
      limits,
      data: this.#data,
      aliases: new Aliases(),
      parametersFor: (...message) => this.#parametersFor(...message),
      judgeUpdate: (...update) => this.#judgeUpdate(...update),
      refusal: (code) => this.#refusal(code),
      refusalBy: (backend, error) => {
        if (error.redirect === undefined) return error;
        tell(proxy.onRelayRedirect, backend.rid);
        return this.#refusal("INTERNAL_ERROR");
      },
      failureOf: (error) => {
        const { code, isFinal } = refusalFor(error);
        return { ...this.#refusal(code), ...(isFinal && { retryInterval: 0n }) };
      },
      onRelayGoaway: (mapping, goaway) => this.#mover.requestLeaves(mapping, goaway),
    };
    this.#mover = new Mover({
      clock,
      random,
      drainDeadline,
      reissues,
      mappings: this.#mappings,
      active: () => health.active,
      place: (mapping) => this.#destinationOf(mapping),
      backendTo: ({ rid, uri }) => this.#backendTo(rid, uri),
      ...(proxy.onMove && { onMove: proxy.onMove }),
    });
    this.#unsubscribe = health.onChange(({ rid }) => this.#mover.healthChanged(rid));
  }

  /** The requests that are carried now (LB-PMAP-1). */
  get mappings(): ReadonlySet<KeptMapping> {
    return this.#mappings;
  }

  get counts(): ProxiedCounts {
    return {
      mappings: this.#mappings.size,
      waiting: this.#waiting.size,
      backends: this.#relays?.backends.size ?? 0,
      affinities: this.#placer.affinities,
      displaced: this.#mover.displaced,
      data: this.#data.counts,
    };
  }

  /** The client makes a request. */
  onRequest(request: IncomingRequest): void {
    const { requestId } = request.message;
    if (!this.#hasRoom()) {
      tell(this.#proxy.onFull, undefined);
      request.refuse(this.#refusal("EXCESSIVE_LOAD"));
      return;
    }
    const placed = this.#admit(request)
      .catch((error) => this.#failed(request, error))
      .finally(() => this.#waiting.delete(requestId));
    this.#waiting.set(requestId, placed);
  }

  onDataStream(stream: IncomingDataStream): void {
    this.#data.onDataStream(this.#session, stream);
  }

  onDatagram(datagram: ObjectDatagram, bytes: Uint8Array): void {
    this.#data.onDatagram(this.#session, datagram, bytes);
  }

  /** The client wants no more requests of relays on this session. */
  onGoaway(_goaway: SessionGoaway): void {
    this.#clientLeaves = true;
  }

  /** The client session is over, and with it all that was held for it. */
  onClosed(_close: SessionClose): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsubscribe();
    this.#mover.close();
    this.#relays?.close();
    this.#data.forget(this.#session);
  }

  /** Another snapshot is in force. */
  onSnapshot(previous: ActiveSnapshot | undefined, active: ActiveSnapshot): void {
    this.#placer.rotated(active);
    this.#mover.rotated(previous, active);
  }

  /** Whether one request more may be carried; one that waits for nothing but late objects yields. */
  #hasRoom(): boolean {
    const { maximumMappings } = this.#proxy.limits;
    if (this.#mappings.size + this.#waiting.size < maximumMappings) return true;
    for (const mapping of this.#mappings) {
      if (mapping instanceof CarriedRequest && mapping.giveWay()) return true;
    }
    return false;
  }

  /** Limits and authorization, then placement (LB-S38). */
  async #admit(request: IncomingRequest): Promise<void> {
    const { message } = request;
    const receivedAt = this.#proxy.now();
    await this.#isSetUp;
    if (isJoining(message)) {
      await this.#admitJoining(request, message, receivedAt);
      return;
    }
    const key = routingKey(message) as TrackNamespace;
    const target = {
      type: message.type,
      trackNamespace: key,
      trackName: requestTrackName(message),
    };
    const checked = this.#check(request, target);
    const rejection = isPromise(checked) ? await checked : checked;
    if (request.isOver || this.#isClosed) return;
    const destination = rejection ?? this.#placer.place(message, key);
    this.#tellOf(message, destination, receivedAt);
    if ("kind" in destination) {
      request.refuse(toRequestError(destination, message));
      return;
    }
    const asked = { type: message.type, prefix: key, rid: destination.rid };
    if (overlapsElsewhere(asked, this.#mappings)) {
      request.refuse(this.#refusal("PREFIX_OVERLAP"));
      return;
    }
    const { rid, uri } = destination;
    const backend = this.#backendTo(rid, uri);
    this.#bind(this.#carry({ request, opener: "client", key, backend }), rid);
  }

  async #admitJoining(
    request: IncomingRequest,
    message: JoiningFetch,
    receivedAt: number,
  ): Promise<void> {
    const { admission } = this.#proxy;
    await this.#waiting.get(message.joiningRequestId);
    const joined = await findJoined(message, this.#mappings);
    const rejection =
      joined === undefined
        ? admission.reject("INVALID_JOINING_REQUEST_ID", "joining-fetch")
        : await this.#check(request, {
            type: "FETCH",
            trackNamespace: joined.key,
            trackName: requestTrackName(joined.message),
          });
    // It may have moved meanwhile: its relay and its ID there belong together.
    const joiningRequestId = joined && (await joinedAs(joined));
    if (request.isOver || this.#isClosed) return;
    if (joined === undefined || rejection !== undefined) {
      const refusal = rejection as Rejection;
      this.#tellOf(message, refusal, receivedAt);
      request.refuse(toRequestError(refusal, message));
      return;
    }
    if (joiningRequestId === undefined) {
      request.refuse(this.#refusal("INVALID_JOINING_REQUEST_ID"));
      return;
    }
    const asked = joined.asStandalone?.(message) ?? { ...message, joiningRequestId };
    if (asked === "INVALID_RANGE") request.refuse(this.#refusal("INVALID_RANGE"));
    else {
      const { key, backend } = joined;
      this.#tellOf(message, backend, receivedAt);
      this.#carry({ request, opener: "client", key, backend, message: asked });
    }
  }

  #tellOf(request: RoutableRequest, destination: Destination | Rejection, receivedAt: number) {
    const { onPlaced, now } = this.#proxy;
    tell(onPlaced, { request, destination, duration: now() - receivedAt });
  }

  #check(
    request: IncomingRequest,
    target: Target,
  ): Rejection | undefined | Promise<Rejection | undefined> {
    const { admission, now } = this.#proxy;
    return admission.admitFor(target, () => this.#requesterWith(request.tokens), now());
  }

  #requesterWith(tokens: readonly AuthorizationToken[]): Requester {
    const requester = this.#requester();
    if (tokens.length === 0) return requester;
    return { ...requester, tokens: [...tokens, ...(requester.tokens ?? [])] };
  }

  /** Where a displaced request belongs now; its namespace is bound to that relay (LB-PAFF-1). */
  #destinationOf(mapping: Mapping): Destination | undefined {
    const { message, key } = mapping as KeptMapping;
    const destination = this.#placer.place(message, key);
    if ("kind" in destination) return undefined;
    this.#bind(mapping, destination.rid);
    return destination;
  }

  #bind(mapping: Mapping, rid: string): void {
    const unbind = this.#placer.bind(mapping.key, rid);
    this.#bindings.get(mapping)?.();
    if (mapping.isOver) unbind();
    else this.#bindings.set(mapping, unbind);
  }

  /** No session to a relay comes of it before there is a request for one (LB-PSETUP-5). */
  #prepare(limits: PeerSetup): void {
    if (this.#isClosed) return;
    const { draft } = this.#session;
    const requester = this.#backendRequester();
    const handlers = this.#handlers;
    this.#relays = this.#proxy.relays.forSession({ draft, requester, limits, handlers });
  }

  #backendRequester(): BackendRequester {
    const { tenant, authority, bearerToken, tokens = [] } = this.#requester();
    return { tenant, authority, bearerToken, tokens };
  }

  #backendTo(rid: string, uri: string): Backend {
    // Requests come after SETUP only.
    return (this.#relays as SessionRelays).open(rid, uri);
  }

  #carry(carriage: Carriage): KeptMapping {
    const mapping = this.#mappingOf(carriage);
    // Counted once: it waits no more.
    if (carriage.opener === "client") this.#waiting.delete(carriage.request.message.requestId);
    this.#mappings.add(mapping);
    mapping.onOver = () => {
      this.#mappings.delete(mapping);
      this.#mover.forget(mapping);
      this.#bindings.get(mapping)?.();
      this.#bindings.delete(mapping);
    };
    // It may have failed at once.
    if (mapping.isOver) mapping.onOver();
    return mapping;
  }

  #mappingOf(carriage: Carriage): KeptMapping {
    const { request, opener, key, backend } = carriage;
    if (opener === "client" && request.message.type === "SUBSCRIBE") {
      return new ClientSubscription(this.#context, request, key, backend);
    }
    return new CarriedRequest(this.#context, carriage);
  }

  /** What comes from relays. */
  readonly #handlers: BackendHandlers = {
    onRequest: (request, backend) => this.#relayRequests(request, backend),
    onDataStream: (stream, backend) => {
      if (backend.session !== undefined) this.#data.onDataStream(backend.session, stream);
    },
    onDatagram: (datagram, bytes, backend) => {
      if (backend.session !== undefined) {
        this.#data.onDatagram(backend.session, datagram, bytes);
      }
    },
    onGoaway: (_goaway, backend) => this.#mover.relayLeaves(backend),
    onClosed: (_end, backend) => {
      void backend.opened.then((session) => this.#data.forget(session));
      this.#mover.backendLost(backend);
    },
  };

  #relayRequests(request: IncomingRequest, backend: Backend): void {
    const { message } = request;
    const fault = this.#relayFault();
    if (fault !== undefined) {
      request.refuse(this.#refusal(fault));
      if (message.type === "PUBLISH") this.#skip(message, backend);
      return;
    }
    const key = routingKey(message);
    if (key !== undefined && isReserved(key)) request.refuse(this.#refusal("DOES_NOT_EXIST"));
    else if (key !== undefined) this.#carry({ request, opener: "relay", key, backend });
    else if (isJoining(message)) {
      this.#relayJoins(request, message, backend).catch((error) => this.#failed(request, error));
    }
  }

  #failed(request: IncomingRequest, error: unknown): void {
    if (!request.isOver) request.refuse(this.#context.failureOf(error));
  }

  async #relayJoins(
    request: IncomingRequest,
    message: JoiningFetch,
    backend: Backend,
  ): Promise<void> {
    const joined = await findJoined(message, this.#mappings, backend);
    const joiningRequestId = joined && (await joinedAs(joined, backend));
    if (request.isOver) return;
    if (joined === undefined || joiningRequestId === undefined) {
      request.refuse(this.#refusal("INVALID_JOINING_REQUEST_ID"));
      return;
    }
    const asked = { ...message, joiningRequestId };
    this.#carry({ request, opener: "relay", key: joined.key, backend, message: asked });
  }

  /** Why nothing more can be asked of the client now, if so. */
  #relayFault(): RequestErrorName | undefined {
    if (this.#clientLeaves || this.#isClosed) return "GOING_AWAY";
    if (!this.#hasRoom()) return "EXCESSIVE_LOAD";
    // It would wait for the client's credit, which may never come (LB-S65).
    return this.#session.transport.canOpen("bidi") ? undefined : "EXCESSIVE_LOAD";
  }

  /** The client learns of a track that it cannot be given (LB-S65). */
  #skip(
    { trackNamespace, trackName }: { trackNamespace: TrackNamespace; trackName: Uint8Array },
    backend: Backend,
  ): void {
    for (const mapping of this.#mappings) {
      if (!(mapping instanceof CarriedRequest) || mapping.backend !== backend) continue;
      if (mapping.type !== "SUBSCRIBE_TRACKS" || !hasPrefix(trackNamespace, mapping.prefix))
        continue;
      mapping.skip(trackNamespace.slice(mapping.prefix.length), trackName);
    }
  }

  readonly #parametersFor: MappingContext["parametersFor"] = async (
    backend,
    request,
    parameters,
    tokens,
  ) => {
    // A relay that promises less than its pool does is not to close the session for it (LB-A20).
    const setup = await backend.session?.setup;
    const fault = parameterFault(parameters, setup?.maxFilterRanges ?? 0n);
    if (fault !== undefined) throw new RefusedRequest(fault);
    const { backendTokens, clock, limits } = this.#proxy;
    const requester = this.#backendRequester();
    const shown = requestCredentials(backendTokens, backend, requester, request, tokens);
    if (!isPromise(shown)) return withTokens(parameters, shown);
    const { connectTimeout } = limits;
    return withTokens(
      parameters,
      await inTime(clock, connectTimeout, Promise.resolve(shown), () => noCredentials()),
    );
  };

  readonly #judgeUpdate: MappingContext["judgeUpdate"] = (mapping, parameters, tokens) => {
    const { admission, now } = this.#proxy;
    const kept = mapping as KeptMapping;
    const moved = parameters.find((parameter) => parameter.type === "TRACK_NAMESPACE_PREFIX");
    const prefix = moved?.trackNamespacePrefix ?? kept.prefix ?? mapping.key;
    const asked = { type: mapping.type, prefix, rid: mapping.backend.rid };
    if (moved !== undefined && overlapsElsewhere(asked, this.#mappings, mapping)) {
      return this.#refusal("PREFIX_OVERLAP");
    }
    const target: Target = {
      // The client subscribes to what a relay publishes because it has asked for such tracks.
      type: mapping.opener === "client" ? mapping.type : "SUBSCRIBE_TRACKS",
      trackNamespace: prefix,
      trackName: requestTrackName(kept.message),
    };
    const shown = tokens.length > 0 ? tokens : kept.tokens;
    const judged = admission.admitFor(target, () => this.#requesterWith(shown), now());
    const concluded = (rejection: Rejection | undefined) =>
      rejection && toRequestError(rejection, kept.message);
    return isPromise(judged) ? judged.then(concluded) : concluded(judged);
  };

  /** A REQUEST_ERROR that tells nothing of relays (LB-S125). */
  #refusal(code: RequestErrorName) {
    const { retryAfter, random } = this.#proxy;
    const retries = code === "EXCESSIVE_LOAD" || code === "INTERNAL_ERROR" || code === "GOING_AWAY";
    return {
      type: "REQUEST_ERROR" as const,
      errorCode: requestErrorCodes[code],
      retryInterval: retries ? jitteredRetryInterval(retryAfter, random) : 0n,
      errorReason: "",
    };
  }
}

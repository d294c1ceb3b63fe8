/**
 * A relay's side of one session.
 *
 * @module
 */

import { DataStreams } from "../../src/client/data-streams.ts";
import { Leg } from "../../src/client/leg.ts";
import { OutgoingLeg, type SubscriberRequest } from "../../src/client/outgoing-leg.ts";
import { hasRangeFilter, parameter } from "../../src/client/parameters.ts";
import { refusal } from "../../src/client/refusal.ts";
import { SubscriptionLeg, type SubscriptionRequest } from "../../src/client/subscription-leg.ts";
import {
  type Draft,
  type MessageParameter,
  publishDoneName,
  type RequestError,
  routingKey,
  type SessionErrorName,
  SessionUseError,
} from "../../src/moqt/mod.ts";
import {
  type IncomingRequest,
  MoqtSession,
  RequestEndedError,
  type SessionClose,
} from "../../src/session/mod.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";
import { answerFetch } from "./fetch.ts";
import type { RelayNetwork } from "./network.ts";
import type { NetworkTrack } from "./network-track.ts";
import { PrefixRequests } from "./prefix-requests.ts";
import { Subscriber } from "./subscriber.ts";

export interface RelaySessionOptions {
  readonly network: RelayNetwork;
  /** What SETUP calls the relay. */
  readonly implementation: string;
  /** Milliseconds that a SUBSCRIBE may wait for its track, however long it asks for. */
  readonly longestRendezvous: number;
  readonly onRequest: (request: IncomingRequest) => void;
}

const granted = { type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array(0) } as const;

export class RelaySession {
  readonly streams = new DataStreams();
  readonly #session: MoqtSession;
  readonly #options: RelaySessionOptions;
  readonly #prefixes: PrefixRequests;
  /** Requests of the peer that are not over. */
  readonly #requests = new Set<IncomingRequest>();
  #lastAlias = 0n;

  constructor(transport: Transport, options: RelaySessionOptions) {
    const { network, implementation } = options;
    this.#options = options;
    this.#prefixes = new PrefixRequests(network, this);
    this.#session = new MoqtSession(transport, {
      role: "server",
      setupOptions: [
        { type: "MOQT_IMPLEMENTATION", value: implementation },
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 4096n },
      ],
      clock: network.clock,
      onRequest: (request) => this.#requested(request),
      onDataStream: (stream) => this.streams.onStream(stream),
      onDatagram: (datagram) => this.streams.onDatagram(datagram),
    });
  }

  get draft(): Draft {
    return this.#session.draft;
  }

  /** Serves the session to its end. */
  async run(): Promise<SessionClose> {
    const close = await this.#session.run();
    this.#prefixes.close();
    return close;
  }

  /** Asks the client to go elsewhere with everything. */
  goaway(newSessionUri: string, timeout: number): void {
    if (!this.#session.isOver) this.#session.goaway({ newSessionUri, timeout });
  }

  /** Asks the client to go elsewhere with its requests for one namespace or track. */
  move(
    concerns: (request: IncomingRequest) => boolean,
    newSessionUri: string,
    timeout: number,
  ): void {
    for (const request of this.#requests) {
      if (concerns(request)) request.goaway({ newSessionUri, timeout });
    }
  }

  close(code: SessionErrorName, reason: string): void {
    this.#session.close(code, reason);
  }

  openDataStream(): Promise<TransportStream> {
    return this.#session.openDataStream();
  }

  sendDatagram(bytes: Uint8Array): boolean {
    return this.#session.sendDatagram(bytes);
  }

  /** Subscribes to a track at the peer, which announced its namespace. */
  async subscribe(track: NetworkTrack): Promise<RequestError | undefined> {
    const known = this.streams.expect();
    try {
      const request = this.#session.request({ type: "SUBSCRIBE", ...track.name, parameters: [] });
      const leg = new Leg(request, { request: "SUBSCRIBE", uri: "", ...track.name });
      const answer = await request.answer;
      if (answer.type === "REQUEST_ERROR") return answer;
      if (answer.type !== "SUBSCRIBE_OK") return refusal("INTERNAL_ERROR");
      track.trackProperties = answer.trackProperties;
      this.#receive(track, leg, answer.trackAlias);
      track.onUnwanted = () => leg.cancel();
      return undefined;
    } catch (error) {
      if (error instanceof RequestEndedError || error instanceof SessionUseError) {
        return refusal("DOES_NOT_EXIST");
      }
      throw error;
    } finally {
      known();
    }
  }

  /** Offers a track to the peer, which asked for all tracks under a prefix. */
  async publish(track: NetworkTrack): Promise<void> {
    const { name, trackProperties } = track;
    const trackAlias = ++this.#lastAlias;
    try {
      const request = this.#session.request({
        type: "PUBLISH",
        ...name,
        trackAlias,
        parameters: largestOf(track),
        trackProperties,
      });
      const leg = new Leg(request, { request: "PUBLISH", uri: "", ...name });
      const answer = await request.answer;
      if (answer.type === "REQUEST_OK") this.#send(track, leg, trackAlias, answer.parameters);
    } catch (error) {
      // The subscriber has gone, or goes: nothing is owed to it.
      if (!(error instanceof RequestEndedError || error instanceof SessionUseError)) throw error;
    }
  }

  #requested(request: IncomingRequest): void {
    const { message } = request;
    this.#requests.add(request);
    void request.ended.then(() => this.#requests.delete(request));
    this.#options.onRequest(request);
    if (isReserved(routingKey(message)?.[0])) {
      request.refuse(refusal("DOES_NOT_EXIST"));
      return;
    }
    switch (message.type) {
      case "SUBSCRIBE":
        void this.#subscribed(request);
        break;
      case "PUBLISH":
        this.#published(request);
        break;
      case "FETCH":
        answerFetch(this.#options.network, this, request);
        break;
      case "TRACK_STATUS": {
        const track = this.#options.network.track(message);
        if (!track.isPublished) request.refuse(refusal("DOES_NOT_EXIST"));
        else
          request.send({
            ...granted,
            parameters: largestOf(track),
            trackProperties: track.trackProperties,
          });
        break;
      }
      default:
        this.#prefixes.answer(request);
    }
  }

  async #subscribed(request: IncomingRequest): Promise<void> {
    const { message } = request;
    if (message.type !== "SUBSCRIBE") return;
    const { trackNamespace, trackName, parameters } = message;
    if (hasRangeFilter(parameters)) return request.refuse(refusal("INVALID_FILTER"));
    const { network, longestRendezvous } = this.#options;
    const track = network.track({ trackNamespace, trackName });
    const refused = track.isPublished ? undefined : await network.findPublisher(track);
    const patience = Number(parameter(parameters, "RENDEZVOUS_TIMEOUT")?.value ?? 0n);
    const isThere = await track.published(Math.min(patience, longestRendezvous));
    if (request.isOver) return;
    if (!isThere) {
      request.refuse(refused ?? refusal(patience > 0 ? "TIMEOUT" : "DOES_NOT_EXIST"));
      return;
    }
    const trackAlias = ++this.#lastAlias;
    const { trackProperties } = track;
    request.send({
      type: "SUBSCRIBE_OK",
      trackAlias,
      parameters: largestOf(track),
      trackProperties,
    });
    this.#send(track, asSubscriber(request), trackAlias, parameters);
  }

  #published(request: IncomingRequest): void {
    const { message } = request;
    if (message.type !== "PUBLISH") return;
    const { trackNamespace, trackName, trackAlias, trackProperties } = message;
    const { network } = this.#options;
    const track = network.track({ trackNamespace, trackName });
    request.send(granted);
    track.trackProperties = trackProperties;
    this.#receive(track, asPublisher(request), trackAlias);
    const deactivate = network.activate(trackNamespace, request);
    void request.ended.then(deactivate);
    network.trackPublished(track, this);
  }

  /** From now on the peer sends objects of `track`. */
  #receive(track: NetworkTrack, request: SubscriptionRequest, alias: bigint): void {
    const leg = new SubscriptionLeg(this, request, alias, track, this.#options.network.clock);
    track.addPublisher(leg, this);
    void leg.over.then((end) => {
      const status = "done" in end ? publishDoneName(end.done.statusCode) : undefined;
      // Whoever goes away publishes again, at another relay of this network perhaps.
      track.removePublisher(leg, status === "GOING_AWAY" ? undefined : status);
    });
  }

  /** From now on the peer gets objects of `track`. */
  #send(
    track: NetworkTrack,
    request: SubscriberRequest,
    alias: bigint,
    parameters: readonly MessageParameter[],
  ): void {
    const largest = () => track.cache.largest;
    track.addSubscriber(new Subscriber(new OutgoingLeg(this, request, alias, parameters, largest)));
  }
}

function largestOf({ cache }: NetworkTrack): MessageParameter[] {
  return cache.largest === undefined ? [] : [{ type: "LARGEST_OBJECT", location: cache.largest }];
}

function asSubscriber(request: IncomingRequest): SubscriberRequest {
  return {
    request,
    listen: (hear) => {
      request.onMessage = hear;
    },
  };
}

function asPublisher(request: IncomingRequest): SubscriptionRequest {
  return {
    ended: request.ended,
    cancel: () => request.cancel(),
    listen: (hear) => {
      request.onMessage = (message) => {
        if (message.type === "REQUEST_UPDATE") request.send(granted);
        else hear(message);
      };
    },
  };
}

/** Namespaces that a session keeps to itself: `.` and `.session` (MOQT §2.4.2). */
function isReserved(field: Uint8Array | undefined): boolean {
  const text = field === undefined ? "" : new TextDecoder("latin1").decode(field);
  return text === "." || text === ".session";
}

/**
 * A MOQT endpoint that does what a scenario says: either end of a session, publisher and subscriber.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DataStreams } from "../../../src/client/data-streams.ts";
import {
  encodeObjectDatagram,
  formatName,
  type MessageParameter,
  parseName,
  requestErrorName,
  requestTrackName,
  routingKey,
  type SetupOption,
} from "../../../src/moqt/mod.ts";
import {
  type Clock,
  type IncomingRequest,
  MoqtSession,
  type RequestAnswer,
  type SessionClose,
  type SessionGoaway,
} from "../../../src/session/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { payloadOf } from "./content.ts";
import type { Origin, OriginTrack } from "./origin.ts";
import { largestOf, OutgoingTrack } from "./outgoing-track.ts";
import { ReceivedTrack } from "./received-track.ts";

export interface PeerOptions {
  readonly role: "client" | "server";
  readonly origin: Origin;
  readonly clock?: Clock;
  readonly setupOptions?: readonly SetupOption[];
  /** The Track Alias of the first track that it sends; the next ones follow. */
  readonly firstAlias?: bigint;
  /** Does something else with a request of the peer; `true`: it is dealt with. */
  readonly onRequest?: (request: IncomingRequest, peer: ScriptedPeer) => boolean;
}

const nothing = new Uint8Array(0);

export const granted = { type: "REQUEST_OK", parameters: [], trackProperties: nothing } as const;

export class ScriptedPeer {
  readonly session: MoqtSession;
  readonly closed: Promise<SessionClose>;
  /** Requests of the other end, oldest first. */
  readonly requests: IncomingRequest[] = [];
  readonly goaways: SessionGoaway[] = [];
  readonly sending: OutgoingTrack[] = [];
  readonly receiving: ReceivedTrack[] = [];
  close: SessionClose | undefined;
  /** What it publishes. */
  readonly origin: Origin;
  readonly #options: PeerOptions;
  readonly #streams = new DataStreams();
  #alias: bigint;
  #changed = Promise.withResolvers<void>();

  constructor(transport: Transport, options: PeerOptions) {
    const { role, clock, setupOptions, firstAlias = 1n } = options;
    this.#options = options;
    this.origin = options.origin;
    this.#alias = firstAlias;
    this.session = new MoqtSession(transport, {
      role,
      ...(clock && { clock }),
      ...(setupOptions && { setupOptions }),
      onRequest: (request) => this.#requested(request),
      onDataStream: (stream) => this.#streams.onStream(stream),
      onDatagram: (datagram) => this.#streams.onDatagram(datagram),
      onGoaway: (goaway) => {
        this.goaways.push(goaway);
        this.#tell();
      },
      onFault: (error) => {
        throw error;
      },
    });
    this.closed = this.session.run();
    void this.closed.then((close) => {
      this.close = close;
      this.#tell();
    });
  }

  /** Subscribes; throws where it is refused. @param name in text form */
  async subscribe(
    name: string,
    parameters: readonly MessageParameter[] = [],
    isPaused = false,
  ): Promise<ReceivedTrack> {
    const { track, answer } = this.trySubscribe(name, parameters, isPaused);
    const { type, ...rest } = await answer;
    assert.equal(
      type,
      "SUBSCRIBE_OK",
      JSON.stringify(rest, (_, value) => String(value)),
    );
    return track;
  }

  /** Sends a SUBSCRIBE. `answer` is rejected where the request ends before it. */
  trySubscribe(
    name: string,
    parameters: readonly MessageParameter[] = [],
    isPaused = false,
  ): { readonly track: ReceivedTrack; readonly answer: Promise<RequestAnswer> } {
    const { trackNamespace, trackName = nothing } = parseName(name);
    const known = this.#streams.expect();
    const request = this.session.request({
      type: "SUBSCRIBE",
      trackNamespace,
      trackName,
      parameters,
    });
    const track = new ReceivedTrack(name, request);
    track.isPaused = isPaused;
    this.receiving.push(track);
    const answer = request.answer.then((message) => {
      if (message.type === "SUBSCRIBE_OK") this.#streams.bindTrack(message.trackAlias, track);
      if (message.type === "REQUEST_ERROR") {
        if (requestErrorName(message.errorCode) === undefined) {
          track.faults.push(`REQUEST_ERROR ${message.errorCode}`);
        }
      }
      return message;
    });
    answer.then(known, known);
    return { track, answer };
  }

  /** Offers a track of the origin by PUBLISH. */
  async publish(name: string): Promise<OutgoingTrack> {
    const { trackNamespace, trackName = nothing } = parseName(name);
    const track = this.origin.track(name);
    const trackAlias = this.#alias++;
    const request = this.session.request({
      type: "PUBLISH",
      trackNamespace,
      trackName,
      trackAlias,
      parameters: [],
      trackProperties: nothing,
    });
    const answer = await request.answer;
    assert.equal(answer.type, "REQUEST_OK");
    return this.#send(track, request, trackAlias, "parameters" in answer ? answer.parameters : []);
  }

  /** Sends an object of a track that it serves as a datagram. @returns whether it could be sent */
  datagram(outgoing: OutgoingTrack, group: number, object: number, size: number): boolean {
    return this.session.sendDatagram(
      encodeObjectDatagram({
        trackAlias: outgoing.alias,
        groupId: BigInt(group),
        objectId: BigInt(object),
        publisherPriority: 7,
        endOfGroup: false,
        status: "NORMAL",
        payload: payloadOf(outgoing.track.name, group, object, size),
      }),
    );
  }

  /** Answers a SUBSCRIBE with SUBSCRIBE_OK, and sends objects from then on. */
  accept(request: IncomingRequest): OutgoingTrack {
    const { parameters } = request.message;
    const track = this.origin.track(nameOf(request));
    const trackAlias = this.#alias++;
    request.send({
      type: "SUBSCRIBE_OK",
      trackAlias,
      parameters: largestParameter(track),
      trackProperties: nothing,
    });
    return this.#send(track, request, trackAlias, parameters);
  }

  /** Waits for something of the session. */
  async until(what: string, holds: (peer: ScriptedPeer) => boolean): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what}: not within 20 s`)), 20_000);
    });
    try {
      while (!holds(this)) await Promise.race([this.#changed.promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asserts of all that it received what {@link ReceivedTrack.check} does. */
  check(): void {
    for (const track of this.receiving) track.check();
  }

  #requested(request: IncomingRequest): void {
    this.requests.push(request);
    this.#tell();
    if (this.#options.onRequest?.(request, this) === true) return;
    switch (request.message.type) {
      case "SUBSCRIBE":
        this.accept(request);
        break;
      case "PUBLISH":
        this.#receive(request, request.message.trackAlias);
        break;
      default:
        request.send(granted);
    }
  }

  /** What the peer publishes is published here. */
  #receive(request: IncomingRequest, alias: bigint): void {
    const name = nameOf(request);
    const track = new ReceivedTrack(name, request);
    const own = this.origin.track(name);
    track.onObject = (group, _, payload) => own.append(group, payload);
    track.onGroupEnd = (group) => own.endOf(group);
    this.receiving.push(track);
    request.send(granted);
    this.#streams.bindTrack(alias, track);
  }

  #send(
    track: OriginTrack,
    request: ConstructorParameters<typeof OutgoingTrack>[1],
    alias: bigint,
    parameters: readonly MessageParameter[],
  ): OutgoingTrack {
    const outgoing = new OutgoingTrack(this.session, request, alias, track, parameters);
    request.onMessage = (message) => {
      if (message.type !== "REQUEST_UPDATE") return;
      outgoing.refilter(message.parameters);
      request.send({ ...granted, parameters: largestParameter(track) });
    };
    this.sending.push(outgoing);
    this.#tell();
    return outgoing;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function largestParameter(track: OriginTrack): MessageParameter[] {
  const location = largestOf(track);
  return location === undefined ? [] : [{ type: "LARGEST_OBJECT", location }];
}

/** Name of what a request is about, in text form. */
export function nameOf({ message }: Pick<IncomingRequest, "message">): string {
  return formatName(routingKey(message) ?? [], requestTrackName(message));
}

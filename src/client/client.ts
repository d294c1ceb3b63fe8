/**
 * A MOQT client that follows redirects.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { messageOf } from "../errors.ts";
import { tell } from "../hook.ts";
import {
  drafts as allDrafts,
  type Draft,
  formatName,
  parseDraftName,
  type SessionLimits,
  sessionErrorCodes,
} from "../moqt/mod.ts";
import { type Clock, systemClock } from "../session/mod.ts";
import type { Transport } from "../transport/transport.ts";
import {
  type Announcement,
  type PublishNamespaceOptions,
  publishNamespace,
} from "./announcement.ts";
import type { ClientContext } from "./client-context.ts";
import { ClientSession, type ClientSessionOptions } from "./client-session.ts";
import { ClientError } from "./errors.ts";
import type { ClientEvent } from "./events.ts";
import { type FetchedObjects, type FetchOptions, fetchObjects } from "./fetch.ts";
import { LocalTrack, type TrackOptions } from "./local-track.ts";
import {
  type NamespaceSubscription,
  type PrefixOptions,
  subscribeNamespace,
} from "./namespace-subscription.ts";
import { answerPeer } from "./peer-requests.ts";
import { Placer } from "./placing.ts";
import { PrefixTable } from "./prefix-table.ts";
import { Publication, type PublishOptions } from "./publication.ts";
import { SessionPool } from "./session-pool.ts";
import { type SubscribeOptions, type Subscription, subscribe } from "./subscription.ts";
import type { RequestName } from "./target.ts";
import { type TrackStatus, type TrackStatusOptions, trackStatus } from "./track-status.ts";
import { subscribeTracks, type TracksSubscription } from "./tracks-subscription.ts";
import { sessionUri } from "./uri.ts";
import { within } from "./waiting.ts";

/** Makes a connection to a service that speaks one of `drafts`. */
export type Dial = (
  uri: string,
  options: { readonly drafts: readonly Draft[]; readonly signal: AbortSignal },
) => Promise<Transport>;

export interface ClientOptions {
  /**
   * Where requests go first: a load balancer, or a relay. `moqt` is raw QUIC, `https` WebTransport,
   * `wss` QMux over a WebSocket.
   */
  readonly serviceUri: string;
  /** Drafts that are offered, the preferred one first; default all, newest first. */
  readonly drafts?: readonly Draft[];
  readonly dial: Dial;
  /** Milliseconds after which a session with a relay is closed that has no requests; default 30,000. */
  readonly relayIdleTime?: number;
  /**
   * Sent with every request, to the service and to the relays that it names, as an
   * AUTHORIZATION_TOKEN of type `tokenType`, default 0.
   */
  readonly token?: string | Uint8Array;
  readonly tokenType?: bigint;
  /** Redirects that one request follows; default 6 (LB-REDIR-19). */
  readonly maximumHops?: number;
  /** Attempts in a row that may fail before a request is given up; default 10. */
  readonly maximumAttempts?: number;
  /** Milliseconds that an answer may take, beyond any rendezvous timeout; default 30,000. */
  readonly answerTime?: number;
  /** Longest Retry Interval that is waited for, in milliseconds; default 60,000. */
  readonly longestRetry?: number;
  /** Bytes of each track that wait for the application; default 4 MiB. */
  readonly maximumQueuedBytes?: number;
  /** Bytes of one object; default 16 MiB. */
  readonly maximumObjectBytes?: number;
  /** Limits of each session that are to be different. */
  readonly sessionLimits?: Partial<SessionLimits>;
  /** What SETUP calls this client; default `yardmaster`. */
  readonly implementation?: string;
  /** Told what happens on the way. What it throws is dropped. */
  readonly onEvent?: (event: ClientEvent) => void;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
  /** Numbers in [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/**
 * A client of one service. It has one session with the service and one with each relay that the
 * service has sent it to (LB-REDIR-11). A request goes to the service, and on to the relay that the
 * service names; where the relay drains or is lost, the request goes through the service again.
 */
export interface Client {
  /** Subscribes to a track. @throws {ClientError} as the request is refused or fails */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Fetches objects that were published before. */
  fetch(options: FetchOptions): Promise<FetchedObjects>;
  trackStatus(options: TrackStatusOptions): Promise<TrackStatus>;
  /** Publishes a track with PUBLISH. */
  publish(options: PublishOptions): Promise<Publication>;
  /** Announces a namespace; relays then SUBSCRIBE to the tracks that {@link track} made in it. */
  publishNamespace(options: PublishNamespaceOptions): Promise<Announcement>;
  /** Makes a track that peers can SUBSCRIBE to, without telling anybody. */
  track(options: Required<RequestName> & TrackOptions): LocalTrack;
  subscribeNamespace(options: PrefixOptions): Promise<NamespaceSubscription>;
  subscribeTracks(options: PrefixOptions): Promise<TracksSubscription>;
  /** Ends every track, request and session. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A client that makes its connections with `dial`; none is made before the first request.
 *
 * @throws {ClientError} INVALID_OPTION
 */
export function createClient(options: ClientOptions): Client {
  return new MoqtClient(options);
}

/** Milliseconds that open groups may take to go out when the client is closed. */
const lastGroups = 1_000;

class MoqtClient implements Client {
  readonly #context: ClientContext;
  readonly #sessions: SessionPool<ClientSession>;
  readonly #closing = new AbortController();
  /** Tracks of this client. */
  readonly #tracks = new Map<string, LocalTrack>();
  /** Tracks that this client subscribes to, or is about to. */
  readonly #subscribed = new Set<string>();

  constructor(options: ClientOptions) {
    const { clock = systemClock, random = Math.random } = options;
    const onEvent = (event: ClientEvent) => tell(options.onEvent, event);
    const serviceUri = sessionUri(options.serviceUri);
    if (serviceUri === undefined) {
      throw new ClientError("INVALID_OPTION", "serviceUri has to be an https, moqt or wss URI");
    }
    const open = sessionOpener(options, serviceUri, {
      clock,
      random,
      onEvent,
      onRequest: (session, request) => answerPeer(this.#context, this.#tracks, session, request),
      onGoaway: ({ uri }, { newSessionUri }) =>
        this.#context.placer.sessionMoves(uri, newSessionUri),
    });
    this.#sessions = new SessionPool({ open });
    this.#context = {
      placer: new Placer({
        serviceUri,
        sessions: this.#sessions,
        clock,
        random,
        onEvent,
        maximumHops: atLeast("maximumHops", options.maximumHops ?? 6, 0),
        maximumAttempts: atLeast("maximumAttempts", options.maximumAttempts ?? 10, 1),
        answerTime: atLeast("answerTime", options.answerTime ?? 30_000, 1),
        longestRetry: atLeast("longestRetry", options.longestRetry ?? 60_000, 0),
      }),
      clock,
      limits: {
        queuedBytes: atLeast("maximumQueuedBytes", options.maximumQueuedBytes ?? 0x40_0000, 1),
        objectBytes: atLeast("maximumObjectBytes", options.maximumObjectBytes ?? 0x100_0000, 1),
      },
      namespaces: new PrefixTable(),
      tracks: new PrefixTable(),
      signal: this.#closing.signal,
    };
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    const key = formatName(options.trackNamespace, options.trackName);
    if (this.#subscribed.has(key)) {
      throw new ClientError("ALREADY_SUBSCRIBED", "this client subscribes to that track already");
    }
    this.#subscribed.add(key);
    try {
      const subscription = await subscribe(this.#context, options);
      void subscription.ended.then(() => this.#subscribed.delete(key));
      return subscription;
    } catch (error) {
      this.#subscribed.delete(key);
      throw error;
    }
  }

  async fetch(options: FetchOptions): Promise<FetchedObjects> {
    return await fetchObjects(this.#context, options);
  }

  async trackStatus(options: TrackStatusOptions): Promise<TrackStatus> {
    return await trackStatus(this.#context, options);
  }

  async publish(options: PublishOptions): Promise<Publication> {
    const publication = new Publication(options, this.#unregisterer(options));
    this.#register(publication);
    try {
      await publication.start(this.#context, options.signal);
    } catch (error) {
      await publication.end();
      throw error;
    }
    return publication;
  }

  async publishNamespace(options: PublishNamespaceOptions): Promise<Announcement> {
    return await publishNamespace(this.#context, options);
  }

  track(options: Required<RequestName> & TrackOptions): LocalTrack {
    const track = new LocalTrack(options, options, this.#unregisterer(options));
    this.#register(track);
    return track;
  }

  async subscribeNamespace(options: PrefixOptions): Promise<NamespaceSubscription> {
    return await subscribeNamespace(this.#context, options);
  }

  async subscribeTracks(options: PrefixOptions): Promise<TracksSubscription> {
    return await subscribeTracks(this.#context, options);
  }

  async close(): Promise<void> {
    const tracks = [...this.#tracks.values()].map((track) => track.end());
    await within(this.#context.clock, lastGroups, Promise.all(tracks));
    this.#closing.abort(new ClientError("CLOSED", "the client is closed"));
    this.#sessions.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #register(track: LocalTrack): void {
    this.#closing.signal.throwIfAborted();
    const key = formatName(track.trackNamespace, track.trackName);
    if (this.#tracks.has(key)) {
      throw new ClientError("ALREADY_PUBLISHED", "this client publishes that track already");
    }
    this.#tracks.set(key, track);
  }

  #unregisterer({ trackNamespace, trackName }: Required<RequestName>): () => void {
    return () => this.#tracks.delete(formatName(trackNamespace, trackName));
  }
}

/** What sessions tell and are told by their client. */
type SessionHooks = Pick<
  ClientSessionOptions,
  "clock" | "random" | "onEvent" | "onRequest" | "onGoaway"
>;

/** How a session to a normalised URI is made. */
function sessionOpener(
  options: ClientOptions,
  serviceUri: string,
  hooks: SessionHooks,
): (uri: string, signal: AbortSignal) => Promise<ClientSession> {
  const { dial, drafts = allDrafts, implementation = "yardmaster" } = options;
  const { token, tokenType = 0n, sessionLimits } = options;
  const idleTime = atLeast("relayIdleTime", options.relayIdleTime ?? 30_000, 0);
  const tokenValue = typeof token === "string" ? utf8(token) : token;
  const forAll: ClientSessionOptions = {
    ...hooks,
    implementation,
    ...(tokenValue && { token: { aliasType: "USE_VALUE", tokenType, tokenValue } }),
    ...(sessionLimits && { limits: sessionLimits }),
  };
  return async (uri, signal) => {
    const { onEvent } = hooks;
    onEvent({ type: "connecting", uri });
    try {
      const transport = await dial(uri, { drafts, signal });
      if (parseDraftName(transport.protocol) === undefined) {
        transport.close(sessionErrorCodes.PROTOCOL_VIOLATION, "");
        throw new ClientError("CONNECT_FAILED", "the server does not speak MOQT");
      }
      // The session with the service stays open for later requests (LB-REDIR-9).
      const own = uri === serviceUri ? forAll : { ...forAll, idleTime };
      return new ClientSession(uri, transport, own);
    } catch (error) {
      const reason = messageOf(error);
      onEvent({ type: "unreachable", uri, reason });
      throw error;
    }
  };
}

function atLeast(name: string, value: number, least: number): number {
  if (typeof value === "number" && value >= least) return value;
  throw new ClientError("INVALID_OPTION", `${name} has to be a number, at least ${least}`);
}

/**
 * What the two sides of the gateway say to each other: the client's side hands requests over, the
 * origin's side answers what became of them.
 *
 * @module
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Readable, Writable } from "node:stream";
import type {
  ConnectionState,
  OriginKey,
  RestrictionScope,
  StreamEnd,
  StreamMapRow,
} from "../client-group/mod.ts";

/**
 * A client group of the gateway: one object for as long as anything is known of it, so that it can be
 * a key of maps. What it stands for is the deployment's choice (CG-FIELD-20).
 */
export interface GatewayClient {
  /** The same for the same client in every process of the gateway; never logged as it is. */
  readonly key: string;
  /** First 16 hexadecimal digits of the SHA-256 of `key`: what logs and pages show. */
  readonly digest: string;
}

/** Where requests for one origin go, and what they may share. */
export interface OriginTarget {
  readonly scheme: "https" | "http";
  readonly host: string;
  readonly port: number;
  readonly key: OriginKey;
  readonly scope: RestrictionScope;
  /** TLS only. */
  readonly tls?: {
    readonly serverName?: string | undefined;
    /** PEM; the runtime's own trust anchors where there is none. */
    readonly ca?: string | undefined;
    readonly certificate?: string | undefined;
    readonly privateKey?: string | undefined;
  };
}

/** A request on its way to an origin. */
export interface UpstreamRequest {
  readonly client: GatewayClient;
  readonly target: OriginTarget;
  /** Pseudo-header fields and fields, cleaned, without Client-Group: the connection adds its own. */
  readonly fields: OutgoingHttpHeaders;
  /** Names of fields that go out as never-indexed literals. */
  readonly sensitive: readonly string[];
  /** Whether the request ends with its header section. */
  readonly endStream: boolean;
  /** The client's side of the stream map (CG-MAP-1). */
  readonly from: { readonly connection: string; readonly stream: number | undefined };
  /** Connections that it is not to go on again: each had it once and came to nothing. */
  readonly avoid: ReadonlySet<string>;
  /** Only on a connection that carries nobody else, named by what the state is bound to (CG-KEY-9). */
  readonly privateTo?: string | undefined;
  /** Only on a connection that has had no request yet: the answer to a 421. */
  readonly fresh?: boolean | undefined;
  /** Octets of content that the gateway holds for it, counted against the queue. */
  readonly buffered: () => number;
  /** What only the client's side knows of it, for the stream map (CG-MAP-5, CG-MAP-6). */
  readonly progress?: () => ClientProgress;
}

/** The client's side of a request, as the stream map shows it. */
export interface ClientProgress {
  /** Whether all of its content has come. */
  readonly contentComplete: boolean;
  /** Whether all that came of it can be sent again. */
  readonly replayable: boolean;
  /** Whether the header section of the final response was passed on. */
  readonly responseForwarded: boolean;
}

/** Why a request was never sent. */
export type Declined =
  /** BLOCK in force: 429. Whole seconds, at least 1. */
  | { readonly because: "blocked"; readonly retryAfter: number }
  /** LIMIT of the origin, and the queue is full or time is up: 429. */
  | { readonly because: "limited"; readonly retryAfter: number }
  /** No room or no time left in the queue: 503. */
  | { readonly because: "queue-full" | "queue-timeout"; readonly retryAfter: number }
  /** No connection could be made: 502 or 504 with this Proxy-Status error (RFC 9209 §2.3). */
  | {
      readonly because: "unreachable";
      readonly proxyError:
        | "connection_refused"
        | "connection_timeout"
        | "dns_error"
        | "destination_unavailable"
        | "tls_certificate_error"
        | "tls_protocol_error"
        | "http_protocol_error";
    }
  /** The gateway is ending. */
  | { readonly because: "closing" };

/** A request's stream on a shared connection. */
export interface UpstreamStream {
  /** Of the shared connection, as logs and pages show it. */
  readonly connection: string;
  readonly id: number;
  /** What its Client-Group says; `undefined` where it has none. */
  readonly identifier: number | undefined;
  /** Content of the request; `end()` ends it. Not to be written where the request has `endStream`. */
  readonly content: Writable;
  /**
   * Content of the response, with backpressure: read it by `data`, `pause` and `resume`, or `pipe`
   * with `end: false`. It is the runtime's own stream, whose `end` comes after a reset or a lost
   * connection too on some runtimes, so that its `end`, `close` and `error` mean nothing:
   * {@link ExchangeHandlers.complete} or `failed` comes after its last chunk.
   */
  readonly body: Readable;
  /** Trailers of the request, to be set before `content.end()`. */
  setTrailers(trailers: OutgoingHttpHeaders): void;
  /** Whether anything of it was handed to the socket (CG-MAP-4). */
  readonly sent: boolean;
  /**
   * Whether a header section of a response was on the wire, be it an interim one (CG-MAP-6, CG-A17), and
   * be it that the runtime has not given it out, or never will.
   */
  readonly responseReceived: boolean;
  /**
   * Octets of the response's content, padding included, once all of it was on the wire, be it that nobody
   * has read it yet: no trailers follow then. `undefined` before, and where there are trailers.
   */
  readonly wholeContent: number | undefined;
  /**
   * Resets the stream with this HTTP/2 code, at once; nothing is heard of it afterwards. After
   * {@link ExchangeHandlers.complete} that ends what is left of the request; without it, the stream
   * counts until the content has ended.
   */
  cancel(code: number): void;
}

/** What happens to a submitted request; `declined` alone, or `opened` and then the others in order. */
export interface ExchangeHandlers {
  declined(reason: Declined): void;
  opened(stream: UpstreamStream): void;
  informational(status: number, fields: IncomingHttpHeaders): void;
  /** `neverIndexed`: names of fields that came so. */
  response(status: number, fields: IncomingHttpHeaders, neverIndexed: readonly string[]): void;
  trailers(fields: IncomingHttpHeaders): void;
  /** The whole response was received, to its END_STREAM, and all of `body` was read. */
  complete(): void;
  /**
   * It came to nothing, and `body` gives nothing more: what was received before a reset was read, as
   * far as the runtime keeps it (B07, B10). A boundary is told at once, without waiting for that.
   */
  failed(end: StreamEnd): void;
}

/** A submitted request. */
export interface Submission {
  /** Takes it out of the queue or cancels its stream with CANCEL; nothing is heard of it afterwards. */
  cancel(): void;
}

/** One shared connection as pages and metrics show it. */
export interface ConnectionView {
  readonly id: string;
  readonly origin: string;
  readonly state: ConnectionState;
  readonly support: "not-offered" | "awaited" | "supported" | "unsupported";
  readonly policy: bigint | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly streams: number;
  readonly requests: number;
  readonly dedicated: boolean;
  readonly groups: readonly {
    readonly client: string;
    readonly identifier: number | undefined;
    readonly inProgress: number;
  }[];
}

/** The origin's side as pages and metrics show it. */
export interface PoolView {
  readonly connections: readonly ConnectionView[];
  /** Requests that wait for a place. */
  readonly queue: { readonly requests: number; readonly bytes: number; readonly clients: number };
  /** Connections that are being made. */
  readonly dialing: number;
  /** Origins that cannot be reached now. */
  readonly unreachable: readonly {
    readonly origin: string;
    readonly error: string;
    /** More of it: a code such as `ERR_TLS_CERT_ALTNAME_INVALID`, or words. */
    readonly reason?: string | undefined;
    /** Attempts that failed in a row. */
    readonly attempts: number;
    /** Milliseconds until the next attempt is allowed. */
    readonly retryIn: number;
  }[];
  /** The stream map (CG-MAP-1 to CG-MAP-6). */
  readonly streams: readonly StreamMapRow[];
}

/** A GROUP_CONTROL frame that came, and what it did. */
export interface GroupControlEvent {
  readonly connection: string;
  readonly origin: string;
  /** As the frame names it. */
  readonly identifier: number;
  readonly action: number;
  readonly value: number;
  readonly boundary: bigint;
  readonly effect: "ignored" | "GOAWAY" | "BLOCK" | "LIMIT" | "CLEAR";
  /** Whom it hit; none where it was ignored. */
  readonly client: GatewayClient | undefined;
  readonly scope: RestrictionScope;
}

/** What the upstream side tells of itself: for the log, for metrics, for the fleet. */
export interface UpstreamObserver {
  groupControl?(event: GroupControlEvent): void;
  /** A connection was opened, or has changed its state; `reason` in words. */
  connection?(change: {
    readonly id: string;
    readonly origin: string;
    readonly state: ConnectionState;
    readonly reason: string;
  }): void;
}

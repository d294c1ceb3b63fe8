/** A client connection of ours to a scripted origin, and all that it tells. */

import { once } from "node:events";
import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { IntermediarySettings, receiveGroupControl } from "../../src/client-group/mod.ts";
import { Http2ClientConnection, type Http2ClientSettings } from "../../src/http2/mod.ts";
import { testAuthority } from "../support/http2/certificates.ts";
import {
  RawOrigin,
  type RawOriginConnection,
  type RawOriginOptions,
} from "../support/http2/raw-origin.ts";
import { Watch } from "../support/http2/watch.ts";

export interface ClientBedOptions extends RawOriginOptions {
  readonly offer?: boolean;
  readonly client?: Http2ClientSettings;
  readonly secure?: boolean;
}

export interface RequestOptions {
  /** The request is not ended. */
  readonly open?: boolean;
  readonly method?: string;
  readonly fields?: OutgoingHttpHeaders;
  readonly sensitive?: readonly string[];
  /** False: the response's content is left where it is. */
  readonly reading?: boolean;
}

/** What became of one request, as node:http2 gave it out. */
export interface Outcome {
  readonly id: number;
  readonly stream: ClientHttp2Stream;
  status: number | undefined;
  fields: IncomingHttpHeaders | undefined;
  informational: IncomingHttpHeaders[];
  trailers: IncomingHttpHeaders | undefined;
  content: string;
  /** A clean end of the content was given out. */
  ended: boolean;
  closed: boolean;
}

export class ClientBed {
  readonly origin: RawOrigin;
  readonly peer: RawOriginConnection;
  readonly connection: Http2ClientConnection;
  /** Everything that was told, in order, a line each. */
  readonly told: string[];
  readonly watch: Watch;

  private constructor(
    origin: RawOrigin,
    peer: RawOriginConnection,
    connection: Http2ClientConnection,
    told: string[],
    watch: Watch,
  ) {
    this.origin = origin;
    this.peer = peer;
    this.connection = connection;
    this.told = told;
    this.watch = watch;
  }

  static async open({
    offer = true,
    client,
    secure = false,
    ...options
  }: ClientBedOptions = {}): Promise<ClientBed> {
    const authority = secure ? await testAuthority() : undefined;
    const certificate = await authority?.server("127.0.0.1");
    const origin = await RawOrigin.listen({ ...options, ...(certificate && { tls: certificate }) });
    const socket =
      authority === undefined
        ? connectTcp(origin.port, "127.0.0.1")
        : connectTls({
            port: origin.port,
            host: "127.0.0.1",
            ca: authority.ca,
            ALPNProtocols: ["h2"],
          });
    await once(socket, authority === undefined ? "connect" : "secureConnect");
    const told: string[] = [];
    const watch = new Watch();
    const tell = (line: string) => {
      told.push(line);
      watch.changed();
    };
    const settings = new IntermediarySettings("h2", { offered: offer });
    const connection = new Http2ClientConnection({
      socket,
      origin: "https://api.example",
      offer,
      ...(client && { settings: client }),
      events: {
        settings: (pairs) => {
          tell(`settings ${JSON.stringify(pairs)}`);
          settings.receive(pairs);
        },
        goaway: (last, code) => tell(`goaway ${last} ${code}`),
        groupControl: (payload, streamId) => {
          const control = receiveGroupControl({ settings, inPlace: streamId === 0, payload });
          tell(
            `group-control ${control?.group} ${control?.action} ${control?.value} ${control?.boundary}`,
          );
        },
        reset: (id, code) => tell(`reset ${id} ${code}`),
        headersReceived: (id, endStream) => tell(`headers ${id} ${endStream}`),
        sent: (id) => tell(`sent ${id}`),
        closed: (error) =>
          tell(`closed ${(error as { code?: string } | undefined)?.code ?? ""}`.trim()),
      },
    });
    await connection.ready;
    return new ClientBed(origin, await origin.connection(0), connection, told, watch);
  }

  /** Makes a request; not ended where `open`. */
  request(path: string, options: RequestOptions = {}): Outcome {
    const { open = false, fields = {}, sensitive = [], reading = true } = options;
    const method = options.method ?? (open ? "POST" : "GET");
    const head: OutgoingHttpHeaders = {
      ":method": method,
      ":scheme": "https",
      ":authority": "api.example",
      ":path": path,
      ...fields,
    };
    const { stream, id } = this.connection.request(head, { endStream: !open, sensitive });
    const outcome: Outcome = {
      id,
      stream,
      status: undefined,
      fields: undefined,
      informational: [],
      trailers: undefined,
      content: "",
      ended: false,
      closed: false,
    };
    const changed = () => this.watch.changed();
    stream.on("headers", (informational) => outcome.informational.push(informational));
    stream.on("response", (response) => {
      outcome.status = response[":status"];
      outcome.fields = response;
      changed();
    });
    stream.on("trailers", (trailers) => {
      outcome.trailers = trailers;
    });
    if (reading) {
      stream.setEncoding("latin1");
      stream.on("data", (text: string) => {
        outcome.content += text;
        changed();
      });
    }
    stream.on("end", () => {
      outcome.ended = true;
      changed();
    });
    stream.on("close", () => {
      outcome.closed = true;
      changed();
    });
    return outcome;
  }

  until(what: string, holds: () => boolean): Promise<true> {
    return this.watch.until(what, () => holds() || undefined, {
      state: () => `\n${this.told.join("\n")}\n${this.peer.transcript()}`,
    });
  }

  untilTold(line: string): Promise<true> {
    return this.until(line, () => this.told.includes(line));
  }

  async close(): Promise<void> {
    this.connection.destroy();
    await this.origin.close();
  }
}

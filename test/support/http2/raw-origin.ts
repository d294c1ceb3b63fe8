/**
 * A scripted origin: every connection and every request of it is the test's to answer, frame by frame.
 */

import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import type { TestCertificate } from "./certificates.ts";
import { actions, groupControlFrame, type Pairs, PREFACE, settings } from "./frames.ts";
import type { FieldToSend } from "./hpack.ts";
import {
  type FieldSection,
  RawConnection,
  type RawConnectionOptions,
  type RawStream,
} from "./raw-connection.ts";
import { Watch } from "./watch.ts";

export interface RawOriginOptions extends RawConnectionOptions {
  /** Cleartext with prior knowledge where there is none. */
  readonly tls?: TestCertificate & {
    /** Client certificates are asked for, and held against this. */
    readonly clientCa?: string;
    /** Default `h2` alone. */
    readonly alpn?: readonly string[];
  };
  /**
   * What the first SETTINGS frame has, sent at once; `hold` for none until the test sends it. Default
   * SHARED_CONNECTION_POLICY = 0.
   */
  readonly settings?: Pairs | "hold";
  /** Connections are closed as soon as they are there, before any handshake. */
  readonly closes?: boolean;
  /** Takes every request as its header section comes; default: the test does. */
  readonly onRequest?: (request: OriginRequest) => void;
}

/** One request at an origin. */
export class OriginRequest {
  readonly connection: RawOriginConnection;
  readonly id: number;
  readonly head: FieldSection;

  constructor(connection: RawOriginConnection, id: number, head: FieldSection) {
    this.connection = connection;
    this.id = id;
    this.head = head;
  }

  get path(): string {
    return this.head.get(":path") ?? "";
  }

  get method(): string {
    return this.head.get(":method") ?? "";
  }

  /** What its Client-Group says, read plainly; `undefined` where it has none. */
  get group(): number | undefined {
    const value = this.head.get("client-group");
    return value === undefined ? undefined : Number(value);
  }

  get stream(): RawStream {
    return this.connection.stream(this.id);
  }

  /** Waits for the end of the request; its content. */
  async content(): Promise<string> {
    await this.connection.until(`the end of request ${this.id}`, () =>
      this.stream.ended ? true : undefined,
    );
    return new TextDecoder().decode(this.connection.content(this.id));
  }

  /** A whole response. */
  respond(status = 200, fields: readonly FieldToSend[] = [], content = ""): void {
    const endStream = content === "";
    this.connection.headers(this.id, [[":status", String(status)], ...fields], { endStream });
    if (!endStream) void this.connection.data(this.id, utf8(content), true);
  }

  reset(code: number): void {
    this.connection.rst(this.id, code);
  }
}

export class RawOriginConnection extends RawConnection {
  readonly number: number;
  readonly requests: OriginRequest[] = [];
  /** The TLS server name; `undefined` in cleartext. */
  readonly serverName: string | undefined;
  /** Common name of the client certificate. */
  readonly clientName: string | undefined;
  prefaceCame = false;
  readonly #onRequest: RawOriginOptions["onRequest"];
  #early: Uint8Array = new Uint8Array();

  constructor(socket: Socket, number: number, options: RawOriginOptions) {
    super(socket, options);
    this.number = number;
    this.#onRequest = options.onRequest;
    if (options.tls !== undefined && !options.closes) {
      const secure = socket as TLSSocket & { servername?: string | false };
      this.serverName = secure.servername || undefined;
      const name = secure.getPeerCertificate()?.subject?.CN;
      this.clientName = typeof name === "string" ? name : undefined;
    }
    if (options.closes) {
      socket.destroy();
    } else if (options.settings !== "hold") {
      this.sendSettings(options.settings ?? [[settings.SHARED_CONNECTION_POLICY, 0]]);
    }
    socket.on("data", (chunk: Uint8Array) => this.#arrive(chunk));
  }

  /** Waits for a request: the one that `matches`, or else the `index`th (0 is the first). */
  request(matches: number | ((request: OriginRequest) => boolean)): Promise<OriginRequest> {
    return this.until(
      `a request ${typeof matches === "number" ? `number ${matches}` : matches}`,
      () => (typeof matches === "number" ? this.requests[matches] : this.requests.find(matches)),
    );
  }

  /** The identifiers of all requests that came here, each once. */
  get groups(): number[] {
    return [...new Set(this.requests.flatMap(({ group }) => (group === undefined ? [] : [group])))];
  }

  groupControl(action: keyof typeof actions, group: number, value: number, boundary = 0): void {
    this.write(groupControlFrame(group, actions[action], value, boundary));
  }

  protected override section(stream: RawStream, section: FieldSection): void {
    if (stream.sections.length > 1) return;
    const request = new OriginRequest(this, stream.id, section);
    this.requests.push(request);
    this.#onRequest?.(request);
  }

  #arrive(chunk: Uint8Array): void {
    if (this.prefaceCame) {
      this.receive(chunk);
      return;
    }
    this.#early = concatBytes(this.#early, chunk);
    if (this.#early.length < PREFACE.length) return;
    const preface = this.#early.subarray(0, PREFACE.length);
    if (preface.some((byte, index) => byte !== PREFACE[index])) {
      this.fault = new Error("the connection does not begin with the preface");
    }
    this.prefaceCame = true;
    this.receive(this.#early.subarray(PREFACE.length));
  }
}

export class RawOrigin {
  readonly port: number;
  readonly connections: RawOriginConnection[];
  readonly #server: Server;
  readonly #watch: Watch;

  private constructor(
    server: Server,
    port: number,
    connections: RawOriginConnection[],
    watch: Watch,
  ) {
    this.#server = server;
    this.port = port;
    this.connections = connections;
    this.#watch = watch;
  }

  /** Listens on a free port of 127.0.0.1. */
  static async listen(options: RawOriginOptions = {}): Promise<RawOrigin> {
    const connections: RawOriginConnection[] = [];
    const watch = new Watch();
    const accept = (socket: Socket) => {
      connections.push(
        new RawOriginConnection(socket, connections.length, {
          ...options,
          onRequest: (request) => {
            options.onRequest?.(request);
            watch.changed();
          },
        }),
      );
      watch.changed();
    };
    const { tls } = options;
    const server =
      tls === undefined || options.closes
        ? createTcpServer(accept)
        : createTlsServer(
            {
              cert: tls.certificatePem,
              key: tls.keyPem,
              ALPNProtocols: [...(tls.alpn ?? ["h2"])],
              ...(tls.clientCa !== undefined && {
                requestCert: true,
                rejectUnauthorized: false,
                ca: tls.clientCa,
              }),
            },
            accept,
          );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return new RawOrigin(server, port, connections, watch);
  }

  /** Waits for the connection of that number; 0 is the first. */
  connection(number: number): Promise<RawOriginConnection> {
    return this.#watch.until(`connection ${number} at the origin`, () => this.connections[number]);
  }

  /** Waits for a request on whatever connection. */
  request(matches: (request: OriginRequest) => boolean): Promise<OriginRequest> {
    return this.#watch.until(
      `a request ${matches}`,
      () => this.connections.flatMap(({ requests }) => requests).find(matches),
      {
        state: () =>
          this.connections.map((one) => `\n#${one.number}\n${one.transcript()}`).join(""),
      },
    );
  }

  /** Waits for the request with this path; the `occurrence`th, 1 is the first. */
  requestFor(path: string, occurrence = 1): Promise<OriginRequest> {
    return this.#watch.until(
      `request ${occurrence} for ${path}`,
      () => this.requestsFor(path)[occurrence - 1],
      {
        state: () =>
          this.connections.map((one) => `\n#${one.number}\n${one.transcript()}`).join(""),
      },
    );
  }

  /** All requests for this path so far. */
  requestsFor(path: string): OriginRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** All requests so far, connection by connection. */
  get requests(): OriginRequest[] {
    return this.connections.flatMap(({ requests }) => requests);
  }

  /** Accepts no more connections; those that there are stay. */
  refuse(): void {
    this.#server.close();
  }

  async close(): Promise<void> {
    this.#server.close();
    await Promise.all(this.connections.map((connection) => connection.close()));
  }
}

/** A server connection of ours with a scripted client, and all that it tells. */

import { once } from "node:events";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerOptions,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { groupControlUnexpected, OriginSettings } from "../../src/client-group/mod.ts";
import { Http2ServerConnection, type Settings } from "../../src/http2/mod.ts";
import { testAuthority } from "../support/http2/certificates.ts";
import { RawClient, type RawClientOptions } from "../support/http2/raw-client.ts";
import { Watch } from "../support/http2/watch.ts";

export interface ServerBedOptions extends Omit<RawClientOptions, "port"> {
  readonly policy?: bigint;
  readonly server?: ServerOptions;
  readonly answer?: (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

export class ServerBed {
  readonly client: RawClient;
  readonly connection: Http2ServerConnection;
  /** Requests by path, as node:http2 gave them out. */
  readonly requests: ReadonlyMap<string, [Http2ServerRequest, Http2ServerResponse]>;
  /** Everything that was told, in order, a line each. */
  readonly told: string[];
  readonly watch: Watch;
  readonly #end: () => Promise<void>;

  private constructor(
    client: RawClient,
    connection: Http2ServerConnection,
    requests: ReadonlyMap<string, [Http2ServerRequest, Http2ServerResponse]>,
    told: string[],
    watch: Watch,
    end: () => Promise<void>,
  ) {
    this.client = client;
    this.connection = connection;
    this.requests = requests;
    this.told = told;
    this.watch = watch;
    this.#end = end;
  }

  static async open(options: ServerBedOptions = {}): Promise<ServerBed> {
    const { policy = 0n, answer, server: serverOptions = {}, ...clientOptions } = options;
    const told: string[] = [];
    const watch = new Watch();
    const tell = (line: string) => {
      told.push(line);
      watch.changed();
    };
    const requests = new Map<string, [Http2ServerRequest, Http2ServerResponse]>();
    const server: Http2Server = createHttp2Server(serverOptions);
    server.on("request", (request, response) => {
      request.on("error", () => {});
      response.on("error", () => {});
      requests.set(request.url, [request, response]);
      answer?.(request, response);
      watch.changed();
    });
    let connection: Http2ServerConnection | undefined;
    const take = (socket: Socket) => {
      const settings = new OriginSettings("h2", { policy });
      connection = new Http2ServerConnection({
        socket,
        server,
        firstSettings: (): Settings =>
          settings.settingsToSend().map(([id, value]) => [Number(id), Number(value)]),
        events: {
          settings: (pairs) => {
            tell(`settings ${JSON.stringify(pairs)}`);
            settings.receive(pairs);
          },
          groupControl: () => {
            throw groupControlUnexpected("h2");
          },
          goaway: (last, code) => tell(`goaway ${last} ${code}`),
          reset: (id, code) => tell(`reset ${id} ${code}`),
          headersReceived: (id, endStream) => tell(`headers ${id} ${endStream}`),
          closed: (error) => {
            const { code = "" } = (error ?? {}) as { code?: string };
            tell(`closed ${code}`.trim());
          },
        },
      });
      watch.changed();
    };
    const authority = options.tls ? await testAuthority() : undefined;
    const certificate = await authority?.server("127.0.0.1");
    const listener =
      certificate === undefined
        ? createTcpServer(take)
        : createTlsServer(
            { cert: certificate.certificatePem, key: certificate.keyPem, ALPNProtocols: ["h2"] },
            take,
          );
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const client = await RawClient.connect({ ...clientOptions, port });
    const opened = await watch.until("the connection", () => connection);
    return new ServerBed(client, opened, requests, told, watch, async () => {
      opened.destroy();
      listener.close();
      await client.close();
    });
  }

  /** Waits for the request with this path. */
  request(path: string): Promise<[Http2ServerRequest, Http2ServerResponse]> {
    return this.watch.until(`the request for ${path}`, () => this.requests.get(path));
  }

  until(what: string, holds: () => boolean): Promise<true> {
    return this.watch.until(what, () => holds() || undefined, {
      state: () => `\n${this.told.join("\n")}\n${this.client.transcript()}`,
    });
  }

  untilTold(line: string): Promise<true> {
    return this.until(line, () => this.told.includes(line));
  }

  close(): Promise<void> {
    return this.#end();
  }
}

/** A scripted HTTP/2 client, in TLS with ALPN or in cleartext with prior knowledge. */

import assert from "node:assert/strict";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { utf8 } from "../../../src/bytes.ts";
import type { TestCertificate } from "./certificates.ts";
import { headersFrames, type Pairs, PREFACE, settings } from "./frames.ts";
import type { FieldToSend } from "./hpack.ts";
import { type FieldSection, RawConnection, type RawConnectionOptions } from "./raw-connection.ts";

export interface RawClientOptions extends RawConnectionOptions {
  readonly port: number;
  /** In TLS; default cleartext. Certificates are not checked. */
  readonly tls?: boolean | { readonly certificate?: TestCertificate; readonly serverName?: string };
  /** The address that it comes from; the machine's choice by default. */
  readonly localAddress?: string;
  /** What the first SETTINGS frame has; default ENABLE_PUSH = 0. */
  readonly settings?: Pairs;
}

/** A response as a client has it. */
export interface RawResponse {
  readonly status: number;
  readonly head: FieldSection;
  readonly trailers: FieldSection | undefined;
  readonly informational: readonly FieldSection[];
  readonly content: string;
}

export interface RequestToSend {
  readonly method?: string;
  readonly path?: string;
  readonly authority?: string;
  readonly fields?: readonly FieldToSend[];
  /** Sent with the header section; none ends the request there. */
  readonly content?: string | Uint8Array;
  readonly trailers?: readonly FieldToSend[];
  /** The request is not ended. */
  readonly open?: boolean;
}

export class RawClient extends RawConnection {
  readonly #scheme: string;
  #next = 1;

  private constructor(socket: Socket, options: RawClientOptions) {
    super(socket, options);
    this.#scheme = options.tls ? "https" : "http";
    socket.on("data", (chunk: Uint8Array) => this.receive(chunk));
    this.write(PREFACE);
    this.sendSettings(options.settings ?? [[settings.ENABLE_PUSH, 0]]);
  }

  static async connect(options: RawClientOptions): Promise<RawClient> {
    return new RawClient(await openSocket(options, ["h2"]), options);
  }

  /** The stream that the next request will have; a test may skip some. */
  get nextStream(): number {
    return this.#next;
  }

  set nextStream(id: number) {
    this.#next = id;
  }

  /** Sends a request; its stream. */
  request({
    method = "GET",
    path = "/",
    authority = "api.example",
    fields = [],
    content,
    trailers,
    open = false,
  }: RequestToSend = {}): number {
    const id = this.#next;
    this.#next += 2;
    const ends = content === undefined && trailers === undefined && !open;
    const head = this.encoder.encode([
      [":method", method],
      [":scheme", this.#scheme],
      [":authority", authority],
      [":path", path],
      ...fields,
    ]);
    this.write(...headersFrames(id, head, ends));
    const bytes = typeof content === "string" ? utf8(content) : content;
    void this.#rest(id, bytes, trailers, open);
    return id;
  }

  async #rest(
    id: number,
    content: Uint8Array | undefined,
    trailers: readonly FieldToSend[] | undefined,
    open: boolean,
  ): Promise<void> {
    try {
      if (content !== undefined) await this.data(id, content, trailers === undefined && !open);
      if (trailers !== undefined) this.headers(id, trailers, { endStream: true });
    } catch {
      // The connection ended, or no window came: what the test waits for does not come either.
    }
  }

  /** Waits for the header section of the final response. */
  head(id: number): Promise<FieldSection> {
    return this.until(`a response on stream ${id}`, () => {
      const { sections, reset } = this.stream(id);
      const final = sections.find(isFinal);
      if (final === undefined && reset !== undefined) {
        throw new Error(`stream ${id} was reset with ${reset} instead of a response`);
      }
      return final;
    });
  }

  /** Waits for the whole response. */
  async response(id: number): Promise<RawResponse> {
    await this.until(`the end of the response on stream ${id}`, () => {
      const { ended, reset } = this.stream(id);
      if (!ended && reset !== undefined) {
        throw new Error(`stream ${id} was reset with ${reset} before the end of the response`);
      }
      return ended ? true : undefined;
    });
    const { sections } = this.stream(id);
    const at = sections.findIndex(isFinal);
    const head = sections[at];
    if (head === undefined) throw new Error(`stream ${id} ended without a response`);
    return {
      status: Number(head.get(":status")),
      head,
      trailers: sections[at + 1],
      informational: sections.slice(0, at),
      content: new TextDecoder().decode(this.content(id)),
    };
  }

  /** Sends a request and waits for the whole response. */
  fetch(request?: RequestToSend): Promise<RawResponse> {
    return this.response(this.request(request));
  }

  /** Nothing said that the connection ends: no GOAWAY, no FIN, no reset (CG-CGOAWAY-3, CG-CGOAWAY-4). */
  assertUntouched(): void {
    assert.deepEqual(this.goaways, [], "a GOAWAY reached the client");
    assert.equal(this.end, undefined, "the client's connection was ended");
    assert.equal(this.closed, false, "the client's connection was closed");
  }
}

function isFinal(section: FieldSection): boolean {
  const status = section.get(":status");
  return status !== undefined && !status.startsWith("1");
}

/** A socket to 127.0.0.1, through its handshake. */
export async function openSocket(
  { port, tls, localAddress }: Pick<RawClientOptions, "port" | "tls" | "localAddress">,
  alpn: readonly string[],
): Promise<Socket> {
  if (!tls) {
    const socket = connectTcp({
      port,
      host: "127.0.0.1",
      ...(localAddress !== undefined && { localAddress }),
    });
    await opened(socket, "connect");
    return socket;
  }
  const { certificate, serverName } = tls === true ? ({} as Exclude<typeof tls, boolean>) : tls;
  const options: ConnectionOptions = {
    port,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ALPNProtocols: [...alpn],
    ...(serverName !== undefined && { servername: serverName }),
    ...(certificate !== undefined && { cert: certificate.certificatePem, key: certificate.keyPem }),
  };
  const socket = connectTls(options);
  await opened(socket, "secureConnect");
  assert.equal(socket.alpnProtocol, alpn[0]);
  return socket;
}

async function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once(event, () => {
      socket.off("error", reject);
      resolve();
    });
  });
}

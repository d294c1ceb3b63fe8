/**
 * One end of an HTTP/2 connection that does what a test says and keeps all that it receives, frame
 * by frame. By itself it acknowledges SETTINGS and PING and returns flow-control windows, and even
 * that only where it is not told otherwise.
 */

import type { Socket } from "node:net";
import { concatBytes, toHex } from "../../../src/bytes.ts";
import {
  dataFrame,
  type Frame,
  FrameReader,
  flags,
  frame,
  frameTypes,
  goawayFrame,
  headersFrames,
  type Pairs,
  readUint32,
  resetFrame,
  settings,
  settingsAck,
  settingsFrame,
  settingsIn,
  windowUpdateFrame,
} from "./frames.ts";
import { type FieldToSend, HpackDecoder, HpackEncoder, type HpackField } from "./hpack.ts";
import { Watch } from "./watch.ts";

export interface RecordedFrame extends Frame {
  /** `performance.now()` when the last octet of it came. */
  readonly at: number;
}

/** A header section that came. */
export class FieldSection {
  readonly fields: readonly HpackField[];
  readonly endStream: boolean;
  readonly at: number;

  constructor(fields: readonly HpackField[], endStream: boolean) {
    this.fields = fields;
    this.endStream = endStream;
    this.at = performance.now();
  }

  /** All values of the name, in order. */
  all(name: string): string[] {
    return this.fields.filter((field) => field.name === name).map(({ value }) => value);
  }

  /** The only value of the name; `undefined` where there is none; throws where there are several. */
  get(name: string): string | undefined {
    const [value, ...more] = this.all(name);
    if (more.length > 0) throw new Error(`${name} occurs ${more.length + 1} times`);
    return value;
  }

  /** How the field of that name was represented. */
  representation(name: string): HpackField["as"] | undefined {
    return this.fields.find((field) => field.name === name)?.as;
  }
}

/** What came on one stream. */
export interface RawStream {
  readonly id: number;
  readonly sections: FieldSection[];
  readonly data: Uint8Array[];
  /** END_STREAM came. */
  ended: boolean;
  /** The code of the RST_STREAM that came. */
  reset: number | undefined;
}

export interface RawConnectionOptions {
  /** Default: all. What is left out is the test's to do. */
  readonly automatic?: { readonly ack?: boolean; readonly window?: boolean };
  readonly huffman?: boolean;
}

const DEFAULT_WINDOW = 65_535;

export class RawConnection {
  readonly socket: Socket;
  /** All frames received, in order. */
  readonly frames: RecordedFrame[] = [];
  readonly streams = new Map<number, RawStream>();
  /** How the peer ended the connection: by FIN, or by an error such as a reset. */
  end: "fin" | "error" | undefined;
  /** The connection is gone, whoever ended it. */
  closed = false;
  /** What was wrong with what came, by this end's reading. */
  fault: Error | undefined;
  /** Octets of DATA that were sent. */
  bytesSent = 0;
  readonly encoder: HpackEncoder;
  readonly decoder = new HpackDecoder();
  readonly #reader = new FrameReader();
  readonly #watch = new Watch();
  readonly #automatic: { ack: boolean; window: boolean };
  #begun = false;
  readonly #owed: Uint8Array[] = [];
  /** What may still be sent: for the connection, and for each stream. */
  #window = DEFAULT_WINDOW;
  #initialWindow = DEFAULT_WINDOW;
  readonly #windows = new Map<number, number>();
  #block:
    | { readonly streamId: number; readonly endStream: boolean; parts: Uint8Array[] }
    | undefined;

  constructor(socket: Socket, { automatic = {}, huffman = false }: RawConnectionOptions = {}) {
    this.socket = socket;
    this.encoder = new HpackEncoder({ huffman });
    this.#automatic = { ack: true, window: true, ...automatic };
    socket.setNoDelay(true);
    socket.on("error", () => {
      this.end ??= "error";
      this.#watch.changed();
    });
    socket.on("end", () => {
      this.end ??= "fin";
      this.#watch.changed();
    });
    socket.on("close", () => {
      this.closed = true;
      this.#watch.changed();
    });
  }

  /** Octets that came, behind the preface where there is one. */
  protected receive(chunk: Uint8Array): void {
    if (this.fault !== undefined) return;
    try {
      for (const received of this.#reader.push(chunk)) this.#take(received);
    } catch (error) {
      this.fault = error as Error;
    }
    this.#watch.changed();
  }

  /** Waits until `find` finds something. */
  until<T>(what: string, find: () => T | undefined, patience?: number): Promise<T> {
    return this.#watch.until(
      what,
      () => {
        if (this.fault !== undefined) throw this.fault;
        return find();
      },
      { state: () => `\n${this.transcript()}`, ...(patience !== undefined && { patience }) },
    );
  }

  /** What came so far, a line a frame. */
  transcript(): string {
    const name = (type: number) =>
      Object.entries(frameTypes).find(([, value]) => value === type)?.[0] ?? `type ${type}`;
    const lines = this.frames.map(
      ({ type, flags: bits, streamId, payload }) =>
        `  ${name(type)} stream ${streamId} flags ${bits} length ${payload.length} ${toHex(payload.subarray(0, 24))}`,
    );
    lines.push(`  end: ${this.end ?? "none"}, closed: ${this.closed}`);
    return lines.join("\n");
  }

  // What was received.

  /** Frames of a type, of one stream where it is given. */
  received(type: keyof typeof frameTypes, streamId?: number): RecordedFrame[] {
    return this.frames.filter(
      (received) =>
        received.type === frameTypes[type] &&
        (streamId === undefined || received.streamId === streamId),
    );
  }

  /** All SETTINGS that came, without acknowledgements. */
  get settings(): Pairs[] {
    return this.received("SETTINGS")
      .filter(({ flags: bits }) => (bits & flags.ACK) === 0)
      .map(({ payload }) => settingsIn(payload));
  }

  /** All GOAWAY frames that came. */
  get goaways(): { readonly last: number; readonly code: number }[] {
    return this.received("GOAWAY").map(({ payload }) => ({
      last: readUint32(payload) & 0x7fff_ffff,
      code: readUint32(payload, 4),
    }));
  }

  /** What came on a stream so far. */
  stream(id: number): RawStream {
    const known = this.streams.get(id);
    if (known !== undefined) return known;
    const fresh: RawStream = { id, sections: [], data: [], ended: false, reset: undefined };
    this.streams.set(id, fresh);
    return fresh;
  }

  /** Content of a stream that came so far. */
  content(id: number): Uint8Array {
    return concatBytes(...this.stream(id).data);
  }

  /** Octets of DATA that came. */
  get bytesReceived(): number {
    return this.received("DATA").reduce((sum, { payload }) => sum + payload.length, 0);
  }

  /** Waits for a GOAWAY, which is the first or has a certain code. */
  goaway(code?: number): Promise<{ readonly last: number; readonly code: number }> {
    return this.until(`a GOAWAY ${code ?? ""}`, () =>
      this.goaways.find((goaway) => code === undefined || goaway.code === code),
    );
  }

  /** Waits for the RST_STREAM of a stream; its code. */
  reset(id: number): Promise<number> {
    return this.until(`RST_STREAM on stream ${id}`, () => this.stream(id).reset);
  }

  /** Waits until the connection is over. */
  over(patience?: number): Promise<true> {
    return this.until(
      "the end of the connection",
      () => (this.closed || this.end !== undefined ? true : undefined),
      patience,
    );
  }

  /** Sends PING and waits for its acknowledgement: all that was sent before has been read by then. */
  async ping(): Promise<void> {
    const payload = crypto.getRandomValues(new Uint8Array(8));
    const text = toHex(payload);
    this.write(frame(frameTypes.PING, 0, 0, payload));
    await this.until("the acknowledgement of PING", () => {
      if (this.end !== undefined || this.closed) throw new Error("the connection ended before");
      return this.received("PING").find(
        (ping) => (ping.flags & flags.ACK) !== 0 && toHex(ping.payload) === text,
      );
    });
  }

  // What is sent.

  /** Octets as they are, in one write. */
  write(...parts: readonly Uint8Array[]): void {
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(concatBytes(...parts));
  }

  /** SETTINGS; what was owed to the peer and may not come before the first goes out behind it. */
  sendSettings(pairs: Pairs): void {
    this.write(settingsFrame(pairs), ...this.#owed.splice(0));
    this.#begun = true;
  }

  /** Nothing may be sent before the first SETTINGS (RFC 9113 §3.4). */
  #owe(...frames: readonly Uint8Array[]): void {
    if (this.#begun) this.write(...frames);
    else this.#owed.push(...frames);
  }

  /** A header section, cut into as many frames as is said. */
  headers(
    id: number,
    fields: readonly FieldToSend[],
    { endStream = false, pieces }: { endStream?: boolean; pieces?: number } = {},
  ): void {
    this.write(...headersFrames(id, this.encoder.encode(fields), endStream, pieces));
  }

  /** DATA, as the peer's windows allow; resolves once all of it is written. */
  async data(id: number, content: Uint8Array, endStream = false): Promise<void> {
    let left = content;
    do {
      const size = await this.until(`a window for stream ${id}`, () =>
        this.#takeRoom(id, left.length),
      );
      const piece = left.subarray(0, size);
      this.bytesSent += size;
      left = left.subarray(size);
      this.write(dataFrame(id, piece, endStream && left.length === 0));
    } while (left.length > 0);
  }

  rst(id: number, code: number): void {
    this.write(resetFrame(id, code));
  }

  sendGoaway(lastStreamId: number, code = 0): void {
    this.write(goawayFrame(lastStreamId, code));
  }

  /** Ends the TCP connection: with FIN, or with RST where the runtime can do that. */
  kill(how: "fin" | "rst" = "fin"): void {
    if (how === "fin") this.socket.end();
    else this.socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.socket.destroy();
    await this.#watch.until("the close of the socket", () => (this.closed ? true : undefined));
  }

  #windowOf(id: number): number {
    return this.#windows.get(id) ?? this.#initialWindow;
  }

  /** At once, since several streams may wait for the same window. */
  #takeRoom(id: number, wanted: number): number | undefined {
    if (wanted === 0) return 0;
    if (this.closed) throw new Error("the connection closed while content was to be sent");
    const room = Math.min(wanted, this.#window, this.#windowOf(id), 16_384);
    if (room <= 0) return undefined;
    this.#window -= room;
    this.#windows.set(id, this.#windowOf(id) - room);
    return room;
  }

  #take(received: Frame): void {
    this.frames.push({ ...received, at: performance.now() });
    const { type, flags: bits, streamId, payload } = received;
    if (this.#block !== undefined && type !== frameTypes.CONTINUATION) {
      throw new Error(`a frame of type ${type} inside a header block (RFC 9113 §4.3)`);
    }
    switch (type) {
      case frameTypes.HEADERS:
        this.#block = {
          streamId,
          endStream: (bits & flags.END_STREAM) !== 0,
          parts: [headerBlockOf(received)],
        };
        if ((bits & flags.END_HEADERS) !== 0) this.#section();
        break;
      case frameTypes.CONTINUATION:
        if (this.#block?.streamId !== streamId) throw new Error("a stray CONTINUATION");
        this.#block.parts.push(payload);
        if ((bits & flags.END_HEADERS) !== 0) this.#section();
        break;
      case frameTypes.DATA:
        this.#data(received);
        break;
      case frameTypes.RST_STREAM:
        this.stream(streamId).reset = readUint32(payload);
        break;
      case frameTypes.SETTINGS:
        this.#settings(received);
        break;
      case frameTypes.PING:
        if ((bits & flags.ACK) === 0 && this.#automatic.ack) {
          this.#owe(frame(frameTypes.PING, flags.ACK, 0, payload));
        }
        break;
      case frameTypes.WINDOW_UPDATE: {
        const increment = readUint32(payload) & 0x7fff_ffff;
        if (streamId === 0) this.#window += increment;
        else this.#windows.set(streamId, this.#windowOf(streamId) + increment);
      }
    }
  }

  #settings({ flags: bits, payload }: Frame): void {
    if ((bits & flags.ACK) !== 0) return;
    for (const [id, value] of settingsIn(payload)) {
      if (id !== settings.INITIAL_WINDOW_SIZE) continue;
      for (const [stream, window] of this.#windows) {
        this.#windows.set(stream, window + value - this.#initialWindow);
      }
      this.#initialWindow = value;
    }
    if (this.#automatic.ack) this.#owe(settingsAck);
  }

  #data({ flags: bits, streamId, payload }: Frame): void {
    const padded = (bits & flags.PADDED) !== 0;
    const data = padded ? payload.subarray(1, payload.length - (payload[0] as number)) : payload;
    const stream = this.stream(streamId);
    stream.data.push(data);
    if ((bits & flags.END_STREAM) !== 0) stream.ended = true;
    if (this.#automatic.window && payload.length > 0) {
      this.#owe(windowUpdateFrame(0, payload.length), windowUpdateFrame(streamId, payload.length));
    }
  }

  #section(): void {
    if (this.#block === undefined) return;
    const { streamId, endStream, parts } = this.#block;
    this.#block = undefined;
    const section = new FieldSection(this.decoder.decode(concatBytes(...parts)), endStream);
    const stream = this.stream(streamId);
    stream.sections.push(section);
    if (endStream) stream.ended = true;
    this.section(stream, section);
  }

  /** A header section has come; for ends that act by themselves. */
  protected section(_stream: RawStream, _section: FieldSection): void {}
}

/** Without padding and priority (RFC 9113 §6.2). */
function headerBlockOf({ flags: bits, payload }: Frame): Uint8Array {
  const padded = (bits & flags.PADDED) !== 0;
  const start = (padded ? 1 : 0) + ((bits & flags.PRIORITY) !== 0 ? 5 : 0);
  return payload.subarray(start, padded ? payload.length - (payload[0] as number) : undefined);
}

/** A MOQT peer that sends bytes and not messages, over any transport: it may break every rule. */

import assert from "node:assert/strict";
import { concatBytes, fromHex } from "../../src/bytes.ts";
import {
  type Draft,
  decodeControlMessage,
  parseDraftName,
  type RequestError,
  readControlMessage,
  type SessionErrorName,
  sessionErrorCodes,
} from "../../src/moqt/mod.ts";
import { StreamReset, StreamStopped } from "../../src/quic/errors.ts";
import type { Transport, TransportClose, TransportStream } from "../../src/transport/transport.ts";

/** SETUP without options. */
export const emptySetup = "af000000";

/** Bytes of hexadecimal digits; white space is for the reader. */
export function bytesOf(digits: string | Uint8Array): Uint8Array {
  if (typeof digits !== "string") return digits;
  const bytes = fromHex(digits.replace(/\s+/g, ""));
  assert.ok(bytes, `not hexadecimal: ${digits}`);
  return bytes;
}

/** What came on a stream, and how it ended. */
export interface Received {
  readonly bytes: Uint8Array;
  /** `"FIN"`, or the code of a reset. */
  readonly end: "FIN" | bigint;
}

export async function readToEnd(stream: TransportStream): Promise<Received> {
  const parts: Uint8Array[] = [];
  try {
    for (let part = await stream.read(); part !== null; part = await stream.read()) {
      parts.push(part);
    }
    return { bytes: concatBytes(...parts), end: "FIN" };
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error;
    return { bytes: concatBytes(...parts), end: error.applicationCode };
  }
}

/** Writes `bytes` again and again until the other end stops the stream; the code of that. */
export async function writeUntilStopped(
  stream: TransportStream,
  bytes: Uint8Array,
): Promise<bigint> {
  let code: bigint | undefined;
  void stream.stopped.then((stopped) => {
    code = stopped;
  });
  while (code === undefined) {
    try {
      await stream.write(bytes);
    } catch (error) {
      if (!(error instanceof StreamStopped)) throw error;
      code = error.applicationCode;
    }
  }
  return code;
}

export class RawPeer {
  readonly transport: Transport;
  /** The control stream of the other end, once somebody looks for it. */
  #control: Promise<TransportStream> | undefined;
  #controlBytes: Uint8Array = new Uint8Array(0);
  /** Deno ends a stream that nobody holds any more. */
  readonly #held: TransportStream[] = [];

  constructor(transport: Transport) {
    this.transport = transport;
  }

  get draft(): Draft {
    return parseDraftName(this.transport.protocol) as Draft;
  }

  /** Opens a control stream with these bytes. */
  async setup(bytes: string | Uint8Array = emptySetup): Promise<TransportStream> {
    return await this.uni(bytes);
  }

  async uni(bytes: string | Uint8Array, fin = false): Promise<TransportStream> {
    const stream = await this.transport.openUni();
    this.#held.push(stream);
    await stream.write(bytesOf(bytes), fin);
    return stream;
  }

  /** Opens a request stream with these bytes. */
  async open(bytes: string | Uint8Array, fin = false): Promise<TransportStream> {
    const stream = await this.transport.openBidi();
    await stream.write(bytesOf(bytes), fin);
    return stream;
  }

  /** Sends bytes on a request stream, and reads what answers them. */
  async ask(bytes: string | Uint8Array, fin = true): Promise<Received> {
    return await readToEnd(await this.open(bytes, fin));
  }

  /** The REQUEST_ERROR that answers these bytes, which FIN has to follow. */
  async refusal(bytes: string | Uint8Array, fin = true): Promise<RequestError> {
    const { bytes: answer, end } = await this.ask(bytes, fin);
    assert.equal(end, "FIN");
    const message = decodeControlMessage(answer, this.draft);
    assert.ok(message.type === "REQUEST_ERROR", `answered with ${message.type}`);
    return message;
  }

  /** The next message on the control stream of the other end. */
  async controlMessage() {
    this.#control ??= this.transport.accept().then((stream) => {
      assert.ok(stream !== null, "the session ended before a control stream came");
      return stream;
    });
    const stream = await this.#control;
    for (;;) {
      const read = readControlMessage(this.#controlBytes, this.draft);
      if (read !== undefined) {
        this.#controlBytes = this.#controlBytes.slice(read.length);
        return read.message;
      }
      const part = await stream.read();
      assert.ok(part !== null, "the control stream ended");
      this.#controlBytes = concatBytes(this.#controlBytes, part);
    }
  }

  /** Waits for the other end to close the session with `code`. */
  async closedWith(code: SessionErrorName): Promise<TransportClose> {
    const close = await this.transport.closed;
    const found = Object.entries(sessionErrorCodes).find(([, number]) => number === close.code);
    assert.equal(found?.[0], code, `closed with ${close.code}: ${close.reason}`);
    assert.equal(close.by, "remote");
    return close;
  }
}

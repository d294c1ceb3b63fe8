/**
 * Runs the sessions of @moqt/transport, which do no I/O, over a transport of ours: draft 18, either
 * end. It carries bytes and remembers; every rule is the library's own.
 */

import {
  type ControlMessage,
  createControlCodec,
  type DecodedControlMessage,
  EndpointRole,
  Session,
  type SessionOutboundAction,
  type SetupOptions,
} from "@moqt/transport";
import { concatBytes } from "../../src/bytes.ts";
import { QuicClosed } from "../../src/quic/errors.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

const codec = createControlCodec(18);

/** What came on the stream of a request of the library's. */
export interface Answer {
  readonly message: DecodedControlMessage;
  /** FIN came right after it. */
  readonly fin: boolean;
}

/** A message on the control stream, or the first one on a request stream of the other end. */
export interface Heard {
  readonly message: DecodedControlMessage;
  /** Where it is a request: our name for it. */
  readonly requestId?: bigint;
}

export class MoqtTransportPeer {
  readonly session: Session;
  /** Codes with which the library wants the session closed; a good end has none. */
  readonly closes: { readonly code: bigint; readonly reason: string }[] = [];
  readonly #transport: Transport;
  readonly #control: Promise<TransportStream>;
  /** Request streams of either end, by Request ID. */
  readonly #streams = new Map<bigint, TransportStream>();
  readonly #heard: Heard[] = [];
  #listener: (() => void) | undefined;

  constructor(transport: Transport, role: "client" | "server") {
    const { CLIENT, SERVER } = EndpointRole;
    this.session = new Session(role === "client" ? CLIENT : SERVER, 18);
    this.#transport = transport;
    this.#control = transport.openUni();
    void this.#accept();
  }

  async setup(options: SetupOptions = {}): Promise<void> {
    const { session } = this;
    const isClient = session.role === EndpointRole.CLIENT;
    await this.perform(isClient ? session.initiateSetup(options) : session.completeSetup(options));
  }

  /** Makes a request, and waits for what answers it. */
  async ask(made: { requestId: bigint; actions: SessionOutboundAction[] }): Promise<Answer> {
    await this.perform(made.actions);
    const stream = this.#streams.get(made.requestId) as TransportStream;
    const messages = new MessageStream(stream);
    const message = await messages.next();
    if (message === null) throw new Error("the request stream ended without an answer");
    await this.perform(this.session.handleControlMessage(message, { requestId: made.requestId }));
    const fin = message.type === "REQUEST_ERROR" && (await messages.next()) === null;
    return { message, fin };
  }

  /** The next message that is no answer. */
  async hear(): Promise<Heard> {
    while (this.#heard.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listener = resolve;
      await promise;
    }
    return this.#heard.shift() as Heard;
  }

  /**
   * Carries out what the library wants done.
   *
   * @param about the request that a message belongs to, where it does not say so itself
   */
  async perform(actions: readonly SessionOutboundAction[], about?: bigint): Promise<void> {
    for (const action of actions) {
      if (action.type === "send_control") await this.#send(action.message, about);
      else if (action.type === "open_namespace_stream") await this.#send(action.message, about);
      else if (action.type === "close_connection") {
        this.closes.push({ code: action.error, reason: action.reason });
        this.#transport.close(action.error, action.reason);
      }
    }
  }

  async #send(message: ControlMessage, about?: bigint): Promise<void> {
    const bytes = codec.encode(message);
    if (message.type === "SETUP" || message.type === "GOAWAY") {
      await (await this.#control).write(bytes);
      return;
    }
    const { requestId = about } = message as { requestId?: bigint };
    if (requestId === undefined) throw new Error(`which request is this ${message.type} for?`);
    let stream = this.#streams.get(requestId);
    if (stream === undefined) {
      stream = await this.#transport.openBidi();
      this.#streams.set(requestId, stream);
    }
    await stream.write(bytes, message.type === "REQUEST_ERROR");
  }

  async #accept(): Promise<void> {
    for (;;) {
      const stream = await this.#transport.accept();
      if (stream === null) return;
      void this.#receive(stream).catch((error) => {
        if (!(error instanceof QuicClosed)) throw error;
      });
    }
  }

  async #receive(stream: TransportStream): Promise<void> {
    const messages = new MessageStream(stream);
    for (;;) {
      const message = await messages.next();
      if (message === null) return;
      const requestId =
        stream.kind === "bidi" ? (message as { requestId: bigint }).requestId : null;
      if (requestId !== null) this.#streams.set(requestId, stream);
      await this.perform(this.session.handleControlMessage(message));
      this.#heard.push(requestId === null ? { message } : { message, requestId });
      this.#listener?.();
    }
  }
}

/** Reads whole messages off a stream. */
class MessageStream {
  readonly #stream: TransportStream;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(stream: TransportStream) {
    this.#stream = stream;
  }

  /** `null` at the FIN. */
  async next(): Promise<DecodedControlMessage | null> {
    for (;;) {
      const size = codec.peekFrameSize(this.#bytes);
      if (size !== undefined && size <= this.#bytes.length) {
        const { message, bytesRead } = codec.decode(this.#bytes, 0);
        this.#bytes = this.#bytes.slice(bytesRead);
        return message;
      }
      const part = await this.#stream.read();
      if (part === null) return null;
      this.#bytes = concatBytes(this.#bytes, part);
    }
  }
}

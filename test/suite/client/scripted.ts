/** Services that answer as a test tells them to. */

import { utf8 } from "../../../src/bytes.ts";
import {
  type RequestError,
  type RequestErrorName,
  requestErrorCodes,
} from "../../../src/moqt/mod.ts";
import {
  type IncomingDataStream,
  type IncomingRequest,
  MoqtSession,
} from "../../../src/session/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";

/** A service whose sessions can be looked at and spoken for. */
export class ScriptedService {
  readonly sessions: MoqtSession[] = [];
  readonly requests: IncomingRequest[] = [];
  /** Data streams that came, unread. */
  readonly streams: IncomingDataStream[] = [];
  readonly datagrams: Uint8Array[] = [];
  readonly #answer: (request: IncomingRequest, count: number, session: MoqtSession) => void;

  /** @param answer is given each request, and how many came before it */
  constructor(answer: (request: IncomingRequest, count: number, session: MoqtSession) => void) {
    this.#answer = answer;
  }

  readonly serve = (transport: Transport): void => {
    const session = new MoqtSession(transport, {
      role: "server",
      onRequest: (request) => {
        this.requests.push(request);
        this.#answer(request, this.requests.length - 1, session);
      },
      onDataStream: (stream) => this.streams.push(stream),
      onDatagram: (_, bytes) => this.datagrams.push(bytes),
    });
    this.sessions.push(session);
    void session.run();
  };
}

/** A REQUEST_ERROR. @param retryInterval as on the wire */
export function error(code: RequestErrorName, retryInterval = 0n): RequestError {
  return {
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes[code],
    retryInterval,
    errorReason: "",
  };
}

/** A REDIRECT to a service, under another name where one is given. */
export function redirect(
  connectUri: string,
  request: IncomingRequest,
  name: { readonly fields?: readonly string[]; readonly track?: string } = {},
): RequestError {
  const { message } = request;
  const own =
    "trackNamespacePrefix" in message
      ? message.trackNamespacePrefix
      : "trackNamespace" in message
        ? message.trackNamespace
        : [];
  const ownTrack = "trackName" in message ? message.trackName : new Uint8Array(0);
  return {
    ...error("REDIRECT"),
    redirect: {
      connectUri,
      trackNamespace: name.fields?.map(utf8) ?? own,
      trackName: name.track === undefined ? ownTrack : utf8(name.track),
    },
  };
}

/** Grants whatever is asked for. */
export function grant(request: IncomingRequest): void {
  const nothing = new Uint8Array(0);
  if (request.message.type === "SUBSCRIBE") {
    request.send({
      type: "SUBSCRIBE_OK",
      trackAlias: 7n,
      parameters: [],
      trackProperties: nothing,
    });
  } else request.send({ type: "REQUEST_OK", parameters: [], trackProperties: nothing });
}

/**
 * MOQT on WebTransport over HTTP/2, by the library @fails-components/webtransport: for networks
 * where UDP does not pass and a WebSocket will not do.
 *
 * What is weaker than over HTTP/3:
 *
 * - Everything runs over one TCP connection: a lost packet holds up every stream, and datagrams are
 *   delivered late rather than dropped.
 * - No browser speaks it. The library numbers the streams of a client with odd ids, so that it
 *   understands itself and no other implementation of the draft.
 * - Codes of streams are exact up to 2^53 - 1, those of a session up to 2^32 - 1, which every
 *   registry of MOQT fits in.
 * - A client cannot name authorities to trust; it can name hashes of certificates.
 *
 * @module
 */

export {
  type ConnectWebTransportH2Options,
  connectWebTransportH2,
} from "./webtransport-h2/client.ts";
export {
  type H2Limits,
  type H2SessionOffer,
  type ListenWebTransportH2Options,
  listenWebTransportH2,
  type WebTransportH2Server,
} from "./webtransport-h2/server.ts";

/**
 * A client on the network.
 *
 * @module
 */

import type { DialOptions } from "../transport/dial.ts";
import { type Client, type ClientOptions, createClient, type Dial } from "./client.ts";

export interface ConnectOptions extends Omit<ClientOptions, "dial"> {
  /** How connections are made: certificates, time limits, QUIC stack. */
  readonly connection?: Omit<DialOptions, "drafts">;
  /** Makes connections in another way; `connection` does not count then. */
  readonly dial?: Dial;
}

/**
 * A client of the service at `serviceUri`. No connection is made before the first request.
 *
 * @throws {ClientError} INVALID_OPTION
 */
export function connect({ connection, dial, ...options }: ConnectOptions): Client {
  return createClient({ ...options, dial: dial ?? networkDial(connection) });
}

/** Dials over the network; what that needs is loaded when it is needed. */
function networkDial(connection: Omit<DialOptions, "drafts"> = {}): Dial {
  return async (uri, { drafts }) => {
    const { dial } = await import("../transport/dial.ts");
    return await dial(uri, { ...connection, drafts });
  };
}

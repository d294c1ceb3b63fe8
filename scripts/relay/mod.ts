/**
 * The test relay. Not part of the package: `npm start` and the tests use it. `listen.ts` puts it on
 * the network.
 *
 * @module
 */

export { RelayNetwork } from "./network.ts";
export { Relay, type RelayOptions, type SeenRequest } from "./relay.ts";

/**
 * The gateway: clients in front, shared connections to origins behind, and one client that is blocked,
 * limited or moved without the others noticing.
 *
 * @module
 */

export type {
  AdminConfig,
  CertificatePair,
  ClientRule,
  GatewayConfig,
  ListenConfig,
  OriginConfig,
} from "./config.ts";
export {
  ConfigFileError,
  type ConfigProblem,
  gatewayConfigOf,
  readGatewayConfig,
} from "./config-reader.ts";
export { createGateway, type Gateway, type GatewayPorts } from "./gateway.ts";
export type { GatewayView } from "./view.ts";

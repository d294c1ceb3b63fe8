/**
 * A gateway's configuration, by a file or by options that say the same for one origin.
 *
 * @module
 */

import process from "node:process";
import type { ArgsDef } from "citty";
import {
  ConfigFileError,
  type GatewayConfig,
  gatewayConfigOf,
  readGatewayConfig,
} from "../gateway/mod.ts";
import type { Values } from "./command.ts";
import { InputError, UsageError } from "./errors.ts";

/** Options that a configuration is made of; each but the first has a path in the file. */
export const gatewayOptions = {
  config: { type: "string", valueHint: "FILE", description: "configuration, as JSON" },
  listen: {
    type: "string",
    valueHint: "ADDRESS",
    description: "HTTP/2 and HTTP/1.1 over TLS here (127.0.0.1:8443 where no port is named)",
  },
  certificate: {
    type: "string",
    valueHint: "FILE",
    description: "PEM chain for it; without one, a certificate for development is made",
  },
  key: { type: "string", valueHint: "FILE", description: "its private key, PEM" },
  "listen-cleartext": {
    type: "string",
    valueHint: "ADDRESS",
    description: "HTTP/1.1 and HTTP/2 with prior knowledge here, without TLS",
  },
  origin: {
    type: "string",
    valueHint: "URL",
    description: "where requests go: https://HOST:PORT, or h2c://HOST:PORT without TLS",
  },
  "origin-ca": {
    type: "string",
    valueHint: "FILE",
    description: "trust the authorities in this PEM file for the origin, and no others",
  },
  "origin-name": {
    type: "string",
    valueHint: "HOST",
    description: "TLS server name of the origin, where it is not the host of the URL",
  },
  client: {
    type: "string",
    valueHint: "RULE",
    description: "what makes a client: connection (the default), header:NAME or jwt-sub",
  },
  "jwt-keys": {
    type: "string",
    valueHint: "FILE",
    description: "JWK Set of public keys that tokens are verified with, for --client jwt-sub",
  },
  fleet: {
    type: "string",
    valueHint: "STORE",
    description: "share BLOCK and LIMIT: file:DIR, redis://HOST:PORT or deno-kv:PATH",
  },
  admin: {
    type: "string",
    valueHint: "ADDRESS",
    description: "page, /status.json and /metrics here, on the loopback",
  },
  "access-log": {
    type: "string",
    valueHint: "FILE",
    description: "a line of JSON for each request; - is standard output",
  },
} as const satisfies ArgsDef;

export type GatewayValues = Values<typeof gatewayOptions>;

/**
 * Reads what the command line names.
 *
 * @throws {UsageError} neither a file nor an origin, both, or options that are wrong
 * @throws {InputError} with every problem of the file
 */
export async function readGatewayOptions(values: GatewayValues): Promise<GatewayConfig> {
  const { config, ...others } = values;
  // The parser gives more than options: what stood between them.
  const given = Object.entries(others).filter(
    ([name, value]) => name in gatewayOptions && value !== undefined,
  );
  if (config !== undefined) {
    const [other] = given;
    if (other !== undefined) throw new UsageError(`--config says it all: drop --${other[0]}`);
    return readFile(config);
  }
  if (values.origin === undefined) throw new UsageError("option --config or --origin is missing");
  const { json, optionAt } = fromOptions(values);
  try {
    return await gatewayConfigOf(json, { name: "yard gateway", directory: process.cwd() });
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    const lines = error.problems.map(
      ({ path, message }) => `${optionAt[path] ?? path}: ${message}`,
    );
    throw new UsageError(lines.join("\n"));
  }
}

async function readFile(file: string): Promise<GatewayConfig> {
  try {
    return await readGatewayConfig(file);
  } catch (error) {
    // Its message has a line for each mistake, with the file.
    throw error instanceof ConfigFileError ? new InputError(error.message, error) : error;
  }
}

/** The JSON that says the same, and which option each path of it is. */
function fromOptions(values: GatewayValues): {
  readonly json: object;
  readonly optionAt: Readonly<Record<string, string>>;
} {
  const { listen, certificate, key, origin, client, fleet, admin } = values;
  const cleartext = values["listen-cleartext"];
  const keys = values["jwt-keys"];
  const accessLog = values["access-log"];
  const tls =
    listen === undefined && cleartext !== undefined && certificate === undefined
      ? []
      : [{ address: listen ?? "127.0.0.1:8443", certificate, key }];
  const json = {
    listen: [...tls, ...(cleartext === undefined ? [] : [{ address: cleartext, cleartext: true }])],
    origins: [{ origin, ca: values["origin-ca"], serverName: values["origin-name"] }],
    client,
    ...(keys !== undefined && { jwt: { keys } }),
    fleet,
    ...(admin !== undefined && { admin: { address: admin } }),
    accessLog,
  };
  const optionAt = {
    ...(tls.length > 0 && {
      "listen[0].address": "--listen",
      "listen[0].certificate": "--certificate",
      "listen[0].key": "--key",
    }),
    [`listen[${tls.length}].address`]: "--listen-cleartext",
    "origins[0].origin": "--origin",
    "origins[0].ca": "--origin-ca",
    "origins[0].serverName": "--origin-name",
    client: "--client",
    jwt: "--jwt-keys",
    "jwt.keys": "--jwt-keys",
    fleet: "--fleet",
    "admin.address": "--admin",
    "admin.token": "--admin (its token needs a configuration file)",
    accessLog: "--access-log",
  };
  return { json, optionAt };
}

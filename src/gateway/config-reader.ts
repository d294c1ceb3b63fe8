/**
 * Reads a gateway's configuration, with paths relative to the file it is in. Every problem is listed
 * at once, in the words of the person who wrote it; what is in keys and tokens is never repeated.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { JSONWebKeySet } from "jose";
import { ClientGroupError, codePointsWith, defaultCodePoints } from "../client-group/mod.ts";
import { ConfigFileError, ConfigMap, type ConfigProblem, isJsonMap } from "../config-reader.ts";
import { ConfigurationError } from "../moq-lb/configuration-error.ts";
import { asymmetricAlgorithms, keyResolver } from "../moq-lb/jwt-keys.ts";
import {
  type AdminConfig,
  type CertificatePair,
  type ClientRule,
  type GatewayConfig,
  isLoopback,
  type ListenConfig,
  type OriginConfig,
  parseAddress,
} from "./config.ts";
import { defaultLimits, type LimitName, limitNames, limitTable, limitValue } from "./limits.ts";

export { ConfigFileError, type ConfigProblem } from "../config-reader.ts";

export interface ReadOptions {
  /** What problems call the configuration. */
  readonly name: string;
  /** Paths are relative to this directory. */
  readonly directory: string;
  /** The text of the file at an absolute path; that of the file system by default. */
  readonly readText?: (path: string) => Promise<string>;
}

/**
 * Reads the configuration in `file` and every file that it names.
 *
 * @throws {ConfigFileError} with every problem
 */
export async function readGatewayConfig(file: string): Promise<GatewayConfig> {
  const path = resolve(file);
  let json: unknown;
  try {
    json = JSON.parse(await readText(path));
  } catch (error) {
    const message = error instanceof SyntaxError ? notJson(error) : (error as Error).message;
    throw new ConfigFileError(file, [{ path: "", message }]);
  }
  const config = await gatewayConfigOf(json, { name: file, directory: dirname(path) });
  return { ...config, files: [path, ...config.files] };
}

/**
 * A configuration out of its JSON.
 *
 * @throws {ConfigFileError} with every problem
 */
export async function gatewayConfigOf(json: unknown, options: ReadOptions): Promise<GatewayConfig> {
  if (!isJsonMap(json)) {
    throw new ConfigFileError(options.name, [{ path: "", message: "has to be a map" }]);
  }
  const problems: ConfigProblem[] = [];
  const reading = new Reading(new ConfigMap(json, "", problems), options, problems);
  const config = await reading.config();
  if (config === undefined || problems.length > 0) {
    throw new ConfigFileError(options.name, problems);
  }
  return config;
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
const tokenForm = /^[A-Za-z0-9._~+/=-]{16,256}$/;
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const addressForm = 'HOST:PORT, such as "127.0.0.1:8443" or "[::1]:8443"';
const clientForm = '"connection", "header:NAME" or "jwt-sub"';
/** Fields that say something else, or end here, or are anybody's to set (CG-SEC-4, RFC 9110 §7.6.1). */
const noClientName = new Set(
  "client-group connection content-length host keep-alive proxy-connection te trailer transfer-encoding upgrade via".split(
    " ",
  ),
);
const originForm = "https://HOST[:PORT], or h2c://HOST[:PORT] for cleartext HTTP/2";
const hostForm = "a host name or address, with :PORT where only that one is meant";

class Reading {
  readonly #root: ConfigMap;
  readonly #directory: string;
  readonly #readText: (path: string) => Promise<string>;
  readonly #problems: ConfigProblem[];
  readonly #files: string[] = [];

  constructor(root: ConfigMap, options: ReadOptions, problems: ConfigProblem[]) {
    this.#root = root;
    this.#directory = options.directory;
    this.#readText = options.readText ?? readText;
    this.#problems = problems;
  }

  /** `undefined` where something without which there is no configuration is wrong. */
  async config(): Promise<GatewayConfig | undefined> {
    const root = this.#root;
    const listen = await this.#listeners();
    const origins = await this.#origins();
    const client = await this.#client();
    const limits = this.#limits(root.map("limits"));
    const retries = root.optionalNumber("retries", 0, 1, true);
    const earlyData = this.#choice("earlyData", ["safe", "refuse"]);
    const blockScope = this.#choice("blockScope", ["origin", "origin-key"]);
    const maximumBlock = root.optionalNumber("maximumBlock", 1, 86_400, true);
    const shareUnsupported = root.optionalFlag("shareUnsupported");
    const forwarded = this.#choice("forwarded", ["none", "forwarded", "x-forwarded", "both"]);
    const fleet = this.#fleet();
    const admin = await this.#admin();
    const accessLog = this.#accessLog();
    const codePoints = this.#codePoints(root.map("codePoints"));
    root.refuseOthers();
    if (client === undefined || codePoints === undefined) return undefined;
    return {
      listen,
      origins,
      client,
      limits,
      retries: retries === 0 ? 0 : 1,
      earlyData: earlyData ?? "safe",
      blockScope: blockScope ?? "origin",
      maximumBlock: maximumBlock ?? 86_400,
      shareUnsupported: shareUnsupported ?? true,
      forwarded: forwarded ?? "none",
      ...(fleet !== undefined && { fleet }),
      ...(admin !== undefined && { admin }),
      ...(accessLog !== undefined && { accessLog }),
      codePoints,
      files: [...new Set(this.#files)],
    };
  }

  async #listeners(): Promise<readonly ListenConfig[]> {
    const found: ListenConfig[] = [];
    const taken = new Set<string>();
    for (const map of this.#maps("listen", "at least one port for clients")) {
      const address = this.#address(map);
      const cleartext = map.optionalFlag("cleartext") ?? false;
      const certificate = await this.#pair(map);
      if (cleartext && (map.has("certificate") || map.has("key"))) {
        map.problem("cleartext", "goes without certificate and key: a port is one or the other");
      }
      map.refuseOthers();
      if (address === undefined) continue;
      const name = `${address.hostname}:${address.port}`;
      if (address.port !== 0 && taken.has(name)) map.problem("address", "the same port again");
      taken.add(name);
      found.push({ ...address, cleartext, ...(certificate !== undefined && { certificate }) });
    }
    return found;
  }

  async #origins(): Promise<readonly OriginConfig[]> {
    const found: OriginConfig[] = [];
    const hosts = new Set<string>();
    for (const map of this.#maps("origins", "at least one origin")) {
      const host = map.optionalText("host", hostForm, isHost)?.toLowerCase();
      if (hosts.has(host ?? "*")) {
        map.problem("host", host === undefined ? "a second entry without one" : "the host again");
      }
      hosts.add(host ?? "*");
      const origin = await this.#origin(map, host);
      map.refuseOthers();
      if (origin !== undefined) found.push(origin);
    }
    return found;
  }

  async #origin(map: ConfigMap, host: string | undefined): Promise<OriginConfig | undefined> {
    const target = parseOrigin(map.text("origin", originForm, (text) => !!parseOrigin(text)) ?? "");
    const ca = await this.#authorities(map);
    const name = map.optionalText("serverName", "a host name", (text) =>
      /^[A-Za-z0-9.-]+$/.test(text),
    );
    const clientCertificate = map.has("clientCertificate")
      ? await this.#certificate(map.map("clientCertificate"))
      : undefined;
    const named = map.map("clientCertificates");
    const clientCertificates = new Map<string, CertificatePair>();
    for (const client of keysOf(map.value("clientCertificates"))) {
      const pair = await this.#certificate(named.map(client));
      if (pair !== undefined) clientCertificates.set(client, pair);
    }
    if (target?.scheme === "http") {
      for (const key of ["ca", "serverName", "clientCertificate", "clientCertificates"]) {
        if (map.has(key)) map.problem(key, "is for origins with https alone");
      }
    }
    const tenant = map.optionalText("tenant", 'a name, or "header:NAME"', (text) =>
      text.startsWith("header:") ? fieldName.test(text.slice(7)) : true,
    );
    const others = this.#others(map);
    if (target === undefined) return undefined;
    return {
      ...(host !== undefined && { host }),
      ...target,
      ...(ca !== undefined && { ca }),
      ...(name !== undefined && { serverName: name }),
      ...(clientCertificate !== undefined && { clientCertificate }),
      clientCertificates,
      ...(tenant !== undefined && { tenant: tenantOf(tenant) }),
      others,
    };
  }

  #others(map: ConfigMap): Readonly<Record<string, string>> {
    const texts = map.map("others");
    const found: Record<string, string> = {};
    for (const key of keysOf(map.value("others"))) {
      const text = texts.text(key, "a text");
      if (text !== undefined) found[key] = text;
    }
    return found;
  }

  async #client(): Promise<ClientRule | undefined> {
    const root = this.#root;
    const rule = root.optionalText("client", clientForm, (text) => isClientRule(text));
    const field = rule?.startsWith("header:") === true ? rule.slice(7).toLowerCase() : "";
    if (noClientName.has(field)) {
      root.problem(
        "client",
        `header:${field} names no client: that field has another meaning in HTTP`,
      );
    }
    const jwt = root.map("jwt");
    const wantsKeys = rule === "jwt-sub";
    if (wantsKeys && !jwt.has("keys")) jwt.problem("keys", "missing: the path of a JWK Set");
    if (!wantsKeys && root.has("jwt")) root.problem("jwt", 'is for client "jwt-sub" alone');
    const keys = jwt.has("keys") ? await this.#keySet(jwt) : undefined;
    const issuer = jwt.optionalText("issuer", "the issuer that tokens have to name");
    const audience = jwt.optionalText("audience", "the audience that tokens have to name");
    jwt.refuseOthers();
    if (rule === undefined) return root.has("client") ? undefined : { by: "connection" };
    if (rule.startsWith("header:")) return { by: "header", name: rule.slice(7).toLowerCase() };
    if (!wantsKeys) return { by: "connection" };
    if (keys === undefined) return undefined;
    return {
      by: "jwt-sub",
      keys,
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
    };
  }

  async #keySet(map: ConfigMap): Promise<JSONWebKeySet | undefined> {
    const text = await this.#file(map, "keys", "the path of a JWK Set");
    if (text === undefined) return undefined;
    const json = parsed(text);
    const keys = isJsonMap(json) ? json.keys : undefined;
    if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isPublicKey)) {
      return map.problem("keys", "the file has to be a JWK Set of public keys");
    }
    const set = json as unknown as JSONWebKeySet;
    try {
      keyResolver(set, asymmetricAlgorithms);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return map.problem("keys", `the file cannot be used: ${error.message}`);
    }
    return set;
  }

  #limits(map: ConfigMap): Record<LimitName, number> {
    const limits = defaultLimits();
    for (const name of limitNames) {
      const { least, most, unit } = limitTable[name];
      const value = map.optionalNumber(name, least, most, unit !== "seconds");
      if (value !== undefined) limits[name] = limitValue(name, value);
    }
    map.refuseOthers();
    return limits;
  }

  #fleet(): string | undefined {
    const what = "file:DIRECTORY, redis://HOST:PORT, rediss://HOST:PORT or deno-kv:";
    const store = this.#root.optionalText("fleet", what, (text) =>
      /^(file:.|rediss?:\/\/|deno-kv:)/.test(text),
    );
    const local = /^(file|deno-kv):(.+)$/.exec(store ?? "");
    return local === null ? store : `${local[1]}:${this.#resolve(local[2] as string)}`;
  }

  async #admin(): Promise<AdminConfig | undefined> {
    if (!this.#root.has("admin")) return undefined;
    const map = this.#root.map("admin");
    const address = this.#address(map);
    // A file of its own, so that the configuration holds no secret.
    const text = await this.#file(map, "token", "the path of a file with the token");
    const token = text?.trim();
    if (token !== undefined && !tokenForm.test(token)) {
      map.problem("token", "the file has to hold 16 to 256 characters of Base64");
    }
    if (address !== undefined && !isLoopback(address.hostname) && !map.has("token")) {
      map.problem("token", "only an address of the loopback does without a token");
    }
    map.refuseOthers();
    return address && { ...address, ...(token !== undefined && { token }) };
  }

  #accessLog(): string | undefined {
    const path = this.#root.optionalText("accessLog", '"-" for standard output, or a path');
    return path === undefined || path === "-" ? path : this.#resolve(path);
  }

  #codePoints(map: ConfigMap): GatewayConfig["codePoints"] | undefined {
    const point = (key: string) => {
      const value = map.optionalNumber(key, 0, 0xffff, true);
      return value === undefined ? {} : { [key]: BigInt(value) };
    };
    const h2 = {
      ...point("sharedConnection"),
      ...point("sharedConnectionPolicy"),
      ...point("groupControl"),
    };
    map.refuseOthers();
    if (Object.keys(h2).length === 0) return defaultCodePoints;
    try {
      return codePointsWith({ h2 });
    } catch (error) {
      if (!(error instanceof ClientGroupError)) throw error;
      return this.#root.problem("codePoints", error.message);
    }
  }

  #choice<const T extends string>(key: string, choices: readonly T[]): T | undefined {
    const what = choices.map((choice) => `"${choice}"`).join(" or ");
    return this.#root.optionalText(key, what, (text) => choices.includes(text as T)) as
      | T
      | undefined;
  }

  /** The maps of a list that must not be empty. */
  #maps(key: string, what: string): ConfigMap[] {
    const value = this.#root.value(key);
    if (!Array.isArray(value) || value.length === 0) {
      const fault = Array.isArray(value) ? "is empty" : "has to be a list";
      this.#root.problem(key, `${value === undefined ? "missing" : fault}: ${what}`);
      return [];
    }
    return value.flatMap((item, i) => {
      if (isJsonMap(item)) return [new ConfigMap(item, `${key}[${i}]`, this.#problems)];
      this.#root.problem(`${key}[${i}]`, "has to be a map");
      return [];
    });
  }

  #address(map: ConfigMap) {
    const fits = (text: string) => parseAddress(text) !== undefined;
    return parseAddress(map.text("address", addressForm, fits) ?? "");
  }

  async #certificate(map: ConfigMap): Promise<CertificatePair | undefined> {
    if (!map.has("certificate") && !map.has("key")) {
      map.problem("certificate", "missing: the path of a PEM file, and key with another");
    }
    const pair = await this.#pair(map);
    map.refuseOthers();
    return pair;
  }

  /** A certificate and its key, which belong together; none where neither is named. */
  async #pair(map: ConfigMap): Promise<CertificatePair | undefined> {
    const certificate = await this.#pem(map, "certificate", "CERTIFICATE");
    const key = await this.#pem(map, "key", "PRIVATE KEY");
    if (map.has("certificate") !== map.has("key")) {
      map.problem(map.has("key") ? "certificate" : "key", "missing: the two belong together");
    }
    if (certificate === undefined || key === undefined) return undefined;
    const fault = pairFault(certificate, key);
    return fault === undefined ? { certificate, key } : map.problem("key", fault);
  }

  async #pem(map: ConfigMap, name: string, kind: string): Promise<string | undefined> {
    const text = await this.#file(map, name, "the path of a PEM file");
    if (text === undefined || text.includes(`${kind}-----`)) return text;
    return map.problem(name, `the file is no PEM with a ${kind.toLowerCase()}`);
  }

  /** Certificates of authorities, each of which can be read. */
  async #authorities(map: ConfigMap): Promise<string | undefined> {
    const text = await this.#pem(map, "ca", "CERTIFICATE");
    for (const [index, one] of (text?.match(pemCertificate) ?? []).entries()) {
      if (certificateOf(one) === undefined) {
        return map.problem("ca", `certificate ${index + 1} in the file cannot be read`);
      }
    }
    return text;
  }

  /** The text of the file that `key` names, where it names one. */
  async #file(map: ConfigMap, key: string, what: string): Promise<string | undefined> {
    const path = map.optionalText(key, what);
    if (path === undefined) return undefined;
    const absolute = this.#resolve(path);
    this.#files.push(absolute);
    try {
      return await this.#readText(absolute);
    } catch (error) {
      return map.problem(key, (error as Error).message);
    }
  }

  #resolve(path: string): string {
    return resolve(this.#directory, path);
  }
}

function keysOf(value: unknown): readonly string[] {
  return isJsonMap(value) ? Object.keys(value) : [];
}

function isClientRule(text: string): boolean {
  if (text.startsWith("header:")) return fieldName.test(text.slice(7));
  return text === "connection" || text === "jwt-sub";
}

/** A private key in the set is a mistake, which must not pass unnoticed. */
function isPublicKey(key: unknown): boolean {
  return isJsonMap(key) && typeof key.kty === "string" && key.kty !== "oct" && key.d === undefined;
}

function tenantOf(text: string): { readonly name: string } | { readonly header: string } {
  return text.startsWith("header:") ? { header: text.slice(7).toLowerCase() } : { name: text };
}

function isHost(text: string): boolean {
  const match = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return false;
  const port = Number(match[1] ?? 1);
  return port >= 1 && port <= 65_535;
}

/** `undefined` where it cannot be read. */
function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

type OriginAddress = Pick<OriginConfig, "scheme" | "hostname" | "port">;

function parseOrigin(text: string): OriginAddress | undefined {
  const match = /^(https|h2c|http):\/\/([^/?#@]+)\/?$/.exec(text);
  if (match === null || !URL.canParse(`http://${match[2]}`)) return undefined;
  const scheme = match[1] === "https" ? "https" : "http";
  const url = new URL(`${scheme}://${match[2]}`);
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port);
  return port === 0 ? undefined : { scheme, hostname, port };
}

/** Why the two cannot be used; nothing of the key is repeated. */
function pairFault(certificate: string, key: string): string | undefined {
  const leaf = certificateOf(certificate);
  if (leaf === undefined) return "the certificate beside it cannot be read";
  try {
    const isTheirs = leaf.checkPrivateKey(createPrivateKey(key));
    return isTheirs ? undefined : "is not the key of the certificate";
  } catch {
    return "the file is no private key that can be used";
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The place alone: the parser's own words may repeat what is in the file. */
function notJson({ message }: SyntaxError): string {
  const place = /(?:position|line) \d+(?:(?: \()?,? ?(?:line \d+ )?column \d+\)?)?/.exec(message);
  return place === null ? "not JSON" : `not JSON (at ${place[0]})`;
}

/** @throws {Error} whose message names the file */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const missing = (error as { code?: string }).code === "ENOENT";
    throw new Error(`${path}: ${missing ? "no such file" : "cannot be read"}`);
  }
}

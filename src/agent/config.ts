/**
 * The configuration file of `yard agent`: JSON, with paths relative to the file itself.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ConfigFileError, ConfigMap, type ConfigProblem, isJsonMap } from "../config-reader.ts";
import {
  importSigningKey,
  importTrustedKeys,
  type SigningKey,
  SnapshotError,
  serviceUrisFault,
  type TrustedKeys,
  trustSigningKeys,
} from "../snapshot/mod.ts";
import { type Operator, type Role, roles } from "./action.ts";
import { agentIdForm, isAgentId } from "./agent-options.ts";

import type { HealthSettings } from "./health/mod.ts";

export { ConfigFileError, type ConfigProblem } from "../config-reader.ts";

/** Where the agent's HTTP interface listens. */
export interface AgentListen {
  readonly hostname: string;
  readonly port: number;
  /** PEM; with both it is https. */
  readonly certificate?: string;
  readonly key?: string;
}

/** How probes decide whom to trust beside the authorities of the runtime. */
export interface ProbeTrust {
  /** PEM of the authorities that relays' certificates have to come from. */
  readonly ca?: string;
  /** SHA-256 of certificates that are trusted as they are. */
  readonly certificateHashes?: readonly Uint8Array[];
}

/** What a configuration file says. Times are in milliseconds, paths are absolute. */
export interface AgentConfig {
  /** The file itself. */
  readonly file: string;
  readonly agentId: string;
  readonly listen: AgentListen;
  /** Where people and other agents reach this one. */
  readonly publicUrl?: string;
  /** As `openWritableStore` takes it. */
  readonly store: string;
  readonly signingKey: SigningKey;
  readonly trustedKeys: TrustedKeys;
  /** The pool file; without one, pools come by operators' actions alone. */
  readonly pool?: string;
  readonly maximumAge: number;
  readonly operators: ReadonlyMap<string, Operator>;
  readonly operatorSignatures: ReadonlySet<"publish" | "rollback" | "pool">;
  readonly instances: ReadonlyMap<string, CryptoKey>;
  readonly ownServiceUris?: readonly string[];
  readonly health: Partial<HealthSettings>;
  readonly probeTrust: ProbeTrust;
  /** What a scraper of metrics shows as its bearer token. */
  readonly metricsToken?: string;
  readonly history?: number;
  readonly leaseTtl?: number;
}

const signatures = ["publish", "rollback", "pool"] as const;
/** Seconds; longer ones overflow the timers of every runtime. */
const LONGEST = 2_000_000;
const DEFAULT_PORT = 8790;

/**
 * Reads a configuration and every file that it names, except for the pool, which may be wrong while
 * an agent runs.
 *
 * @throws {ConfigFileError} with every mistake of the file and of those it names
 */
export async function readAgentConfig(file: string): Promise<AgentConfig> {
  const path = resolve(file);
  const json = await readJsonFile(path).catch((error: Error) => {
    throw new ConfigFileError(file, [{ path: "", message: error.message }]);
  });
  if (!isJsonMap(json)) {
    throw new ConfigFileError(file, [{ path: "", message: "has to be a map" }]);
  }
  const problems: ConfigProblem[] = [];
  const reading = new Reading(new ConfigMap(json, "", problems), dirname(path), problems);
  const config = await reading.config(path);
  if (config === undefined || problems.length > 0) throw new ConfigFileError(file, problems);
  return config;
}

class Reading {
  readonly #root: ConfigMap;
  readonly #directory: string;
  readonly #problems: ConfigProblem[];

  constructor(root: ConfigMap, directory: string, problems: ConfigProblem[]) {
    this.#root = root;
    this.#directory = directory;
    this.#problems = problems;
  }

  /** `undefined` where something without which there is no configuration is wrong. */
  async config(file: string): Promise<AgentConfig | undefined> {
    const root = this.#root;
    const agentId = root.text("agentId", agentIdForm, isAgentId);
    const listen = await this.#listen(root.map("listen"));
    const publicUrl = root.optionalText("publicUrl", "an http or https URL", isHttpUrl);
    const store = this.#store();
    const signingKey = await this.#signingKey();
    const trustedKeys = await this.#trustedKeys(signingKey);
    const pool = this.#path("pool", "the path of the pool file");
    const maximumAge = root.number("maximumAge", 1, LONGEST);
    const operators = await this.#operators();
    const signed = root.list("operatorSignatures", `one of ${signatures.join(", ")}`, (item) =>
      signatures.some((name) => name === item),
    );
    const instances = await this.#instances();
    const ownServiceUris = this.#ownServiceUris();
    const { health, probeTrust } = await this.#health(root.map("health"));
    const metricsToken = await this.#metricsToken();
    const history = root.optionalNumber("history", 2, 1_000_000, true);
    const leaseTtl = root.optionalNumber("leaseTtl", 0.1, 300);
    root.refuseOthers();
    if (agentId === undefined || store === undefined || pool === undefined) return undefined;
    if (signingKey === undefined || trustedKeys === undefined) return undefined;
    if (maximumAge === undefined || listen === undefined) return undefined;
    return {
      file,
      agentId,
      listen,
      ...(publicUrl !== undefined && { publicUrl }),
      store,
      signingKey,
      trustedKeys,
      pool,
      maximumAge: maximumAge * 1000,
      operators,
      operatorSignatures: new Set(signed as ("publish" | "rollback" | "pool")[]),
      instances,
      ...(ownServiceUris && { ownServiceUris }),
      health,
      probeTrust,
      ...(metricsToken !== undefined && { metricsToken }),
      ...(history !== undefined && { history }),
      ...(leaseTtl !== undefined && { leaseTtl: leaseTtl * 1000 }),
    };
  }

  async #listen(map: ConfigMap): Promise<AgentListen | undefined> {
    const hostname = map.optionalText("hostname", "a host name or address") ?? "127.0.0.1";
    const port = map.optionalNumber("port", 0, 65_535, true) ?? DEFAULT_PORT;
    const certificate = await this.#pem(map, "certificate", "CERTIFICATE");
    const key = await this.#pem(map, "key", "PRIVATE KEY");
    if (map.has("certificate") !== map.has("key")) {
      map.problem(map.has("key") ? "certificate" : "key", "missing: the two belong together");
    }
    const isBehindProxy = map.optionalFlag("behindProxy") ?? false;
    // Tokens and the whole pool go over this connection (LB-CONF-20).
    if (!map.has("certificate") && !isBehindProxy && !isLoopback(hostname)) {
      const message = "missing: only the loopback does without; behindProxy says who does TLS";
      map.problem("certificate", message);
    }
    map.refuseOthers();
    if (certificate === undefined || key === undefined) return { hostname, port };
    return { hostname, port, certificate, key };
  }

  async #pem(map: ConfigMap, name: string, kind: string): Promise<string | undefined> {
    const path = map.optionalText(name, "the path of a PEM file");
    if (path === undefined) return undefined;
    try {
      const text = await readText(this.#resolve(path));
      if (text.includes(`${kind}-----`)) return text;
      return map.problem(name, `${path}: no PEM file with a ${kind.toLowerCase()}`);
    } catch (error) {
      return map.problem(name, (error as Error).message);
    }
  }

  /** The address with its directory made absolute. */
  #store(): string | undefined {
    const what = "file:DIRECTORY, redis://HOST:PORT, rediss://HOST:PORT or deno-kv:";
    const store = this.#root.text("store", what, (text) =>
      /^(file:.|rediss?:\/\/|deno-kv:)/.test(text),
    );
    const local = /^(file|deno-kv):(.+)$/.exec(store ?? "");
    return local === null ? store : `${local[1]}:${this.#resolve(local[2] as string)}`;
  }

  async #signingKey(): Promise<SigningKey | undefined> {
    const jwk = await this.#json("signingKey", "the path of a private JWK");
    return jwk && this.#key("signingKey", () => importSigningKey(jwk.value));
  }

  /** Those of the file; where none is named, the signing key alone. */
  async #trustedKeys(signingKey: SigningKey | undefined): Promise<TrustedKeys | undefined> {
    if (!this.#root.has("trustedKeys")) return signingKey && trustSigningKeys(signingKey);
    const jwks = await this.#json("trustedKeys", "the path of a JWK Set");
    const keys = jwks && (await this.#key("trustedKeys", () => importTrustedKeys(jwks.value)));
    if (keys !== undefined && signingKey !== undefined && !keys.has(signingKey.kid)) {
      this.#root.problem("trustedKeys", "the signing key is not among them");
    }
    return keys;
  }

  async #operators(): Promise<ReadonlyMap<string, Operator>> {
    const operators = new Map<string, Operator>();
    if (!this.#root.has("operators")) return operators;
    const json = await this.#json("operators", "the path of a list of operators");
    if (json === undefined) return operators;
    if (!Array.isArray(json.value)) {
      this.#root.problem("operators", "the file has to be a list of {name, roles, key}");
      return operators;
    }
    const names = new Set<string>();
    for (const [i, item] of json.value.entries()) {
      const operator = await this.#operator(item, i);
      if (operator === undefined) continue;
      const again = `operators[${i}]`;
      if (names.has(operator.name)) this.#add(`${again}.name`, "the name again: names are unique");
      if (operators.has(operator.kid)) this.#add(`${again}.key`, "the key's kid again");
      names.add(operator.name);
      operators.set(operator.kid, operator);
    }
    return operators;
  }

  async #operator(item: unknown, i: number): Promise<Operator | undefined> {
    const path = `operators[${i}]`;
    if (!isJsonMap(item)) {
      this.#add(path, "has to be {name, roles, key}");
      return undefined;
    }
    const map = new ConfigMap(item, path, this.#problems);
    const form = "1 to 64 characters without control characters";
    const name = map.text("name", form, (text) => /^\P{Cc}{1,64}$/u.test(text));
    const listed = map.list("roles", `one of ${roles.join(", ")}`, (role) =>
      roles.some((known) => known === role),
    );
    if (!map.has("roles")) map.problem("roles", `missing: some of ${roles.join(", ")}`);
    const jwk = map.value("key");
    const keys = await this.#key(map.at("key"), () => importTrustedKeys([jwk]));
    map.refuseOthers();
    const [entry] = keys ?? [];
    if (name === undefined || entry === undefined) return undefined;
    const [kid, key] = entry;
    return { name, roles: listed as Role[], key, kid };
  }

  /** A JWK Set whose `kid`s are the instances' IDs. */
  async #instances(): Promise<ReadonlyMap<string, CryptoKey>> {
    if (!this.#root.has("instances")) return new Map();
    const json = await this.#json("instances", "the path of a JWK Set");
    if (json === undefined) return new Map();
    const list = isJsonMap(json.value) ? json.value.keys : json.value;
    if (!Array.isArray(list)) {
      this.#root.problem("instances", "the file has to be a JWK Set: {keys: [...]}");
      return new Map();
    }
    const instances = new Map<string, CryptoKey>();
    for (const [i, jwk] of list.entries()) {
      const path = `instances[${i}]`;
      const id = isJsonMap(jwk) ? jwk.kid : undefined;
      if (!isAgentId(id)) this.#add(`${path}.kid`, `has to be the instance's ID: ${agentIdForm}`);
      else if (instances.has(id as string)) this.#add(`${path}.kid`, "the ID again");
      const keys = await this.#key(path, () => importTrustedKeys([jwk]));
      for (const [kid, key] of keys ?? []) instances.set(kid, key);
    }
    return instances;
  }

  #ownServiceUris(): readonly string[] | undefined {
    const uris = this.#root.value("ownServiceUris");
    if (uris === undefined) return undefined;
    const list = Array.isArray(uris) ? uris : [uris];
    if (!Array.isArray(uris)) this.#root.problem("ownServiceUris", "has to be a list of URIs");
    for (const [i, uri] of list.entries()) {
      const fault = serviceUrisFault("it", [uri]);
      if (fault !== undefined) {
        this.#add(`ownServiceUris[${i}]`, `no Connect URI: ${fault.replace("it[0] ", "it ")}`);
      }
    }
    return list as readonly string[];
  }

  async #health(map: ConfigMap): Promise<{
    readonly health: Partial<HealthSettings>;
    readonly probeTrust: ProbeTrust;
  }> {
    const seconds = (key: "interval" | "timeout" | "hintTtl") => {
      const value = map.optionalNumber(key, 0.01, LONGEST);
      return value === undefined ? {} : { [key]: Math.max(1, Math.round(value * 1000)) };
    };
    const number = (key: string, least: number, most: number, whole: boolean) => {
      const value = map.optionalNumber(key, least, most, whole);
      return value === undefined ? {} : { [key]: value };
    };
    const health = {
      ...seconds("interval"),
      ...seconds("timeout"),
      ...seconds("hintTtl"),
      ...number("jitter", 0, 1, false),
      ...number("fall", 1, 1000, true),
      ...number("rise", 1, 1000, true),
      ...number("maximumShare", 0, 1, false),
    };
    const ca = await this.#pem(map, "ca", "CERTIFICATE");
    const form = "a SHA-256 in Base64";
    const certificateHashes = map
      .list("certificateHashes", form, (item) => sha256Of(item) !== undefined)
      .map((item) => sha256Of(item) as Uint8Array);
    map.refuseOthers();
    const probeTrust = {
      ...(ca !== undefined && { ca }),
      ...(certificateHashes.length > 0 && { certificateHashes }),
    };
    return { health, probeTrust };
  }

  /** A file of its own, so that the configuration holds no secret. */
  async #metricsToken(): Promise<string | undefined> {
    const path = this.#root.optionalText("metricsToken", "the path of a file with the token");
    if (path === undefined) return undefined;
    try {
      const token = (await readText(this.#resolve(path))).trim();
      if (/^[A-Za-z0-9._~+/=-]{16,256}$/.test(token)) return token;
      return this.#root.problem(
        "metricsToken",
        `${path}: has to hold 16 to 256 characters of Base64`,
      );
    } catch (error) {
      return this.#root.problem("metricsToken", (error as Error).message);
    }
  }

  #path(key: string, what: string): string | undefined {
    const path = this.#root.text(key, what);
    return path === undefined ? undefined : this.#resolve(path);
  }

  #resolve(path: string): string {
    return resolve(this.#directory, path);
  }

  /** The value of the JSON file that `key` names. */
  async #json(key: string, what: string): Promise<{ readonly value: unknown } | undefined> {
    const path = this.#path(key, what);
    if (path === undefined) return undefined;
    try {
      return { value: await readJsonFile(path) };
    } catch (error) {
      return this.#root.problem(key, (error as Error).message);
    }
  }

  async #key<T>(path: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#add(path, error.message);
      return undefined;
    }
  }

  #add(path: string, message: string): void {
    this.#problems.push({ path, message });
  }
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(hostname);
}

/** The bytes that `text` is the Base64 of, as `openssl dgst -sha256 -binary | base64` prints it. */
function sha256Of(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || !/^[A-Za-z0-9+/]{43}=$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
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

/** @throws {Error} whose message names the file, and shows nothing of what is in it */
async function readJsonFile(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${path}: not JSON`);
  }
}

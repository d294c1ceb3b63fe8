/**
 * Which origin a request goes to, and what its connection may share.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { toHex, utf8 } from "../bytes.ts";
import { originKey, restrictionScope } from "../client-group/mod.ts";
import type { CertificatePair, GatewayConfig, OriginConfig } from "./config.ts";
import { soleName } from "./sole-name.ts";
import type { OriginTarget } from "./types.ts";

/** What routing looks at in a request. */
export interface Routed {
  /** Host and, where it was said, port; as `:authority` or Host has it. */
  readonly authority: string;
  /** What the client is called where it has a name, for its certificate towards the origin. */
  readonly clientName?: string | undefined;
  /** The value of a field, by its name in lower case. */
  readonly field: (name: string) => string | undefined;
}

/** From a request to its {@link OriginTarget}; the same object for equal ones. */
export class Routes {
  readonly #byHost = new Map<string, OriginConfig>();
  readonly #rest: OriginConfig | undefined;
  readonly #blockScope: GatewayConfig["blockScope"];
  readonly #targets = new Map<OriginConfig, Map<string, OriginTarget>>();
  /** SHA-256 of their certificates. */
  readonly #identities = new Map<CertificatePair, string>();

  constructor({ origins, blockScope }: Pick<GatewayConfig, "origins" | "blockScope">) {
    for (const origin of origins) {
      if (origin.host !== undefined) this.#byHost.set(origin.host.toLowerCase(), origin);
      this.#targets.set(origin, new Map());
    }
    this.#rest = origins.find(({ host }) => host === undefined);
    this.#blockScope = blockScope;
  }

  /**
   * `undefined` where no entry takes the authority: the request was misdirected (421).
   *
   * The most exact entry counts: host with port, host, the one without.
   */
  targetFor({ authority, clientName, field }: Routed): OriginTarget | undefined {
    const origin = this.#originFor(authority.toLowerCase());
    if (origin === undefined) return undefined;
    const { tenant } = origin;
    const tenantName =
      tenant === undefined
        ? undefined
        : "name" in tenant
          ? tenant.name
          : soleName(field(tenant.header));
    const own = clientName === undefined ? undefined : origin.clientCertificates.get(clientName);
    return this.#target(origin, tenantName, own ?? origin.clientCertificate);
  }

  #originFor(authority: string): OriginConfig | undefined {
    return (
      this.#byHost.get(authority) ?? this.#byHost.get(authority.replace(/:\d*$/, "")) ?? this.#rest
    );
  }

  /** Asked for by each request. */
  #identityOf(pair: CertificatePair): string {
    let identity = this.#identities.get(pair);
    if (identity === undefined) {
      identity = digest(pair.certificate);
      this.#identities.set(pair, identity);
    }
    return identity;
  }

  #target(
    origin: OriginConfig,
    tenant: string | undefined,
    pair: CertificatePair | undefined,
  ): OriginTarget {
    const targets = this.#targets.get(origin) as Map<string, OriginTarget>;
    const identity = pair && this.#identityOf(pair);
    const name =
      identity === undefined && tenant === undefined
        ? ""
        : JSON.stringify([tenant ?? null, identity ?? null]);
    const found = targets.get(name);
    if (found !== undefined) return found;
    const made = targetOf(origin, tenant, pair, this.#blockScope);
    // A tenant named by a field is for a front to vouch for; still nobody grows this without end.
    if (targets.size >= MOST_TARGETS) targets.clear();
    targets.set(name, made);
    return made;
  }
}

const MOST_TARGETS = 10_000;

function targetOf(
  origin: OriginConfig,
  tenant: string | undefined,
  pair: CertificatePair | undefined,
  blockScope: GatewayConfig["blockScope"],
): OriginTarget {
  const { scheme, hostname: host, port, ca } = origin;
  const serverName = scheme === "https" ? (origin.serverName ?? nameOf(origin)) : undefined;
  const attributes = {
    scheme,
    // Hosts that are served at one address stay apart (CG-KEY-1, CG-S59): each entry is an origin of
    // its own. Whatever the entry without a host takes is one, lest clients could make up origins.
    host: origin.host ?? host,
    port,
    serverName,
    validationPolicy: ca === undefined ? "runtime" : digest(ca),
    clientCertificate: pair && digest(pair.certificate),
    protocol: "h2",
    tenant,
    others: { ...origin.others, " address": host },
  } as const;
  return {
    scheme,
    host,
    port,
    key: originKey(attributes),
    scope: restrictionScope(attributes, blockScope),
    ...(scheme === "https" && {
      tls: { serverName, ca, certificate: pair?.certificate, privateKey: pair?.key },
    }),
  };
}

/** The name in the origin's address; where that is a number, the name that clients ask for. */
function nameOf({ host, hostname }: OriginConfig): string | undefined {
  const asked = host?.replace(/:\d*$/, "");
  return [hostname, asked].find((name) => name !== undefined && !isAddress(name));
}

function isAddress(host: string): boolean {
  return /^[\d.]+$|[:[\]]/.test(host);
}

function digest(text: string): string {
  return toHex(sha256(utf8(text)));
}

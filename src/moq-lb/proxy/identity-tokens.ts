/**
 * Tokens by which a balancer tells relays whose request it is, signed by a key of its own: for
 * relays that trust it to have authorized clients (LB-SEC-14, LB-SEC-15).
 *
 * @module
 */

import { SignJWT } from "jose";
import { utf8 } from "../../bytes.ts";
import { sha256Hex } from "../../digest.ts";
import { formatName, type RoutableRequest, routingKey } from "../../moqt/mod.ts";
import type { SigningKey } from "../../snapshot/mod.ts";
import { ConfigurationError, requireInteger } from "../configuration-error.ts";
import { operationOf } from "../operation.ts";
import type { BackendTokenContext, BackendTokens } from "./proxy-options.ts";

export interface IdentityTokenOptions {
  /** Ed25519; relays have its public half under its `kid`. */
  readonly key: SigningKey;
  /** `iss` of the tokens. */
  readonly issuer: string;
  /** Seconds that a token is good for; default 60. */
  readonly lifetime?: number;
  /** MOQT token type; default 0, agreed out of band. */
  readonly tokenType?: bigint;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Backend tokens that state who the client is. Each is a JSON Web Token (EdDSA) with
 *
 * - `aud`: the RID of the relay in hexadecimal, so that no other relay takes it (LB-SEC-16);
 * - `sub`: a digest of tenant and authority, see {@link clientDigest};
 * - `moqt`: what it grants, in the form of the claim that `jwtPolicy` reads: the one operation, on
 *   the one namespace or prefix. The token of a session, and of a request that names no namespace,
 *   grants nothing.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function identityTokens(
  options: IdentityTokenOptions,
): Extract<BackendTokens, { readonly identity: unknown }> {
  const { key, issuer, lifetime = 60, tokenType = 0n, now = Date.now } = options;
  if (typeof issuer !== "string" || issuer === "") {
    throw new ConfigurationError("issuer is missing: give the name that relays know");
  }
  requireInteger("lifetime", lifetime, 1);
  return {
    async identity({ rid, tenant, authority, request }: BackendTokenContext) {
      const at = Math.floor(now() / 1000);
      const jwt = await new SignJWT({ moqt: grantsOf(request) })
        .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ: "JWT" })
        .setIssuer(issuer)
        .setAudience(rid)
        .setSubject(await clientDigest(tenant, authority))
        .setIssuedAt(at)
        .setExpirationTime(at + lifetime)
        .sign(key.privateKey);
      return { tokenType, tokenValue: utf8(jwt) };
    },
  };
}

/**
 * How relays know the clients of one tenant and authority: SHA-256, in lower-case hexadecimal, of the
 * JSON list of both, `null` standing for one that is not known.
 */
export function clientDigest(
  tenant: string | undefined,
  authority: string | undefined,
): Promise<string> {
  return sha256Hex(utf8(JSON.stringify([tenant ?? null, authority ?? null])));
}

function grantsOf(request: RoutableRequest | undefined): readonly object[] {
  const namespace = request && routingKey(request);
  if (request === undefined || namespace === undefined) return [];
  return [{ operations: [operationOf[request.type]], prefix: formatName(namespace) }];
}

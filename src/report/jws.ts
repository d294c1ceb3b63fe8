/**
 * Signed JSON as instances and agents exchange it: a compact JWS (RFC 7515) with EdDSA, whose
 * protected header has `alg`, `typ` and `kid` and nothing else. `typ` keeps the kinds apart, so
 * that a report can never pass for a token (RFC 8725 §3.11).
 *
 * @module
 */

import { CompactSign, compactVerify, errors } from "jose";
import { utf8 } from "../bytes.ts";
import { YardmasterError } from "../errors.ts";
import type { SigningKey } from "../snapshot/mod.ts";

/** Why a text is no signed JSON of the kind that was expected. */
export type JwsFault = "TOO_LARGE" | "MALFORMED" | "UNKNOWN_KEY" | "BAD_SIGNATURE";

/** What {@link openJws} throws. */
export class JwsError extends YardmasterError {
  declare readonly code: JwsFault;

  constructor(code: JwsFault, cause?: unknown) {
    super(code, messages[code], { cause });
  }
}

const messages: Readonly<Record<JwsFault, string>> = {
  TOO_LARGE: "the text is longer than is allowed",
  MALFORMED: "the text is no compact JWS of the kind that was expected",
  UNKNOWN_KEY: "the signature is by no known key",
  BAD_SIGNATURE: "the signature does not fit",
};

/** Signs `claims`, which have to be JSON. */
export function signJws(
  typ: string,
  claims: object,
  { kid, privateKey }: Pick<SigningKey, "kid" | "privateKey">,
): Promise<string> {
  return new CompactSign(utf8(JSON.stringify(claims)))
    .setProtectedHeader({ alg: "EdDSA", typ, kid })
    .sign(privateKey);
}

export interface OpenOptions {
  readonly typ: string;
  /** Longer texts are refused before anything in them is looked at, in characters. */
  readonly maximumLength: number;
  /** The key that has to have signed, from what the text claims before it is verified. */
  readonly keyOf: (claimed: {
    readonly kid: string;
    readonly claims: unknown;
  }) => CryptoKey | undefined;
}

/**
 * The claims of a signed text, once its signature is verified.
 *
 * @throws {JwsError}
 */
export async function openJws(jws: unknown, options: OpenOptions): Promise<unknown> {
  if (typeof jws !== "string") throw new JwsError("MALFORMED");
  if (jws.length > options.maximumLength) throw new JwsError("TOO_LARGE");
  try {
    const { payload } = await compactVerify(
      jws,
      (header, { payload: encoded }) => {
        const { typ, kid } = header;
        const closed = Object.keys(header).every((name) => headerNames.has(name));
        if (!closed || typ !== options.typ || typeof kid !== "string") {
          throw new JwsError("MALFORMED");
        }
        const key = options.keyOf({ kid, claims: claimsOf(fromBase64Url(encoded)) });
        if (key === undefined) throw new JwsError("UNKNOWN_KEY");
        return key;
      },
      { algorithms: ["EdDSA"] },
    );
    return claimsOf(payload);
  } catch (error) {
    if (error instanceof JwsError) throw error;
    const forged = error instanceof errors.JWSSignatureVerificationFailed;
    throw new JwsError(forged ? "BAD_SIGNATURE" : "MALFORMED", error);
  }
}

const headerNames: ReadonlySet<string> = new Set(["alg", "typ", "kid"]);

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function claimsOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(payload));
  } catch (cause) {
    throw new JwsError("MALFORMED", cause);
  }
}

function fromBase64Url(encoded: string | Uint8Array): Uint8Array {
  if (typeof encoded !== "string" || !/^[A-Za-z0-9_-]*$/.test(encoded)) {
    throw new JwsError("MALFORMED");
  }
  const base64 = encoded.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
}

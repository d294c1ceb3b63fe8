/**
 * How an instance shows who it is where it reads from the agent: a token of a minute, signed by its
 * own key, in `Authorization: Bearer` (LB-CONF-18).
 *
 * @module
 */

import type { SigningKey } from "../snapshot/mod.ts";
import { ClaimsFault, readChoice, readInteger, readMembers } from "./claims.ts";
import { ReportError, type ReportErrorCode } from "./errors.ts";
import { isInstanceId } from "./instance-report.ts";
import { JwsError, type JwsFault, openJws, signJws } from "./jws.ts";

const tokenType = "moq-lb-instance+jwt";
const audience = "yardmaster-agent";

/** Seconds that a token is good for. */
const lifetime = 60;

/** Milliseconds that the clocks of an instance and its agent may be apart. */
const tolerance = 300_000;

/** Tokens are about 300 characters long. */
const maximumLength = 2048;

/**
 * A token for one request, or a few.
 *
 * @param now milliseconds of the Unix epoch
 */
export function instanceToken(instanceId: string, key: SigningKey, now: number): Promise<string> {
  const iat = Math.floor(now / 1000);
  const claims = { sub: instanceId, aud: audience, iat, exp: iat + lifetime };
  return signJws(tokenType, claims, key);
}

/**
 * The instance that a token is of.
 *
 * @param instances the public key of each instance
 * @param now milliseconds of the Unix epoch
 * @throws {ReportError} `MALFORMED_TOKEN`, `UNKNOWN_INSTANCE`, `BAD_SIGNATURE`, `TOKEN_EXPIRED`
 */
export async function verifyInstanceToken(
  token: unknown,
  instances: ReadonlyMap<string, CryptoKey>,
  now: number,
): Promise<{ readonly instanceId: string }> {
  const { sub, iat, exp } = await openToken(token, instances);
  const inForce = now >= iat * 1000 - tolerance && now < exp * 1000 + tolerance;
  // However long a stolen key makes its tokens: none is good for more than a minute.
  if (!inForce || exp < iat || exp - iat > lifetime) {
    throw new ReportError("TOKEN_EXPIRED", "the token is too old, or from the future");
  }
  return { instanceId: sub };
}

interface TokenClaims {
  readonly sub: string;
  readonly iat: number;
  readonly exp: number;
}

async function openToken(
  token: unknown,
  instances: ReadonlyMap<string, CryptoKey>,
): Promise<TokenClaims> {
  try {
    const claims = await openJws(token, {
      typ: tokenType,
      maximumLength,
      keyOf: ({ claims }) => {
        const sub = (claims as Partial<TokenClaims> | null)?.sub;
        return isInstanceId(sub) ? instances.get(sub) : undefined;
      },
    });
    return readClaims(claims);
  } catch (error) {
    if (error instanceof JwsError) {
      throw new ReportError(codeOf[error.code], `the token is refused: ${error.message}`, error);
    }
    if (!(error instanceof ClaimsFault)) throw error;
    throw new ReportError("MALFORMED_TOKEN", `not a token of an instance: ${error.message}`);
  }
}

const claimNames: ReadonlySet<string> = new Set(["sub", "aud", "iat", "exp"]);

function readClaims(value: unknown): TokenClaims {
  const claims = readMembers(value, "the token", claimNames);
  readChoice(claims.aud, "aud", [audience]);
  const { sub } = claims;
  if (!isInstanceId(sub)) throw new ClaimsFault("sub has to name an instance");
  return {
    sub,
    iat: readInteger(claims.iat, "iat"),
    exp: readInteger(claims.exp, "exp"),
  };
}

const codeOf: Readonly<Record<JwsFault, ReportErrorCode>> = {
  TOO_LARGE: "MALFORMED_TOKEN",
  MALFORMED: "MALFORMED_TOKEN",
  UNKNOWN_KEY: "UNKNOWN_INSTANCE",
  BAD_SIGNATURE: "BAD_SIGNATURE",
};

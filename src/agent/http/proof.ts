import { compactVerify, decodeProtectedHeader } from "jose";
import type { Operator, VerifiedAction, VerifiedToken } from "../action.ts";
import { AgentError } from "../errors.ts";

async function open(jws: string, operators: ReadonlyMap<string, Operator>, typ: string) {
  let header: { kid?: string; typ?: string };
  try {
    header = decodeProtectedHeader(jws);
  } catch {
    throw new AgentError("UNAUTHENTICATED", "no token");
  }
  const operator = operators.get(header.kid ?? "");
  if (operator === undefined || header.typ !== typ)
    throw new AgentError("UNAUTHENTICATED", "nobody's");
  try {
    const { payload } = await compactVerify(jws, operator.key);
    return { operator, claims: JSON.parse(new TextDecoder().decode(payload)) };
  } catch (cause) {
    throw new AgentError("BAD_SIGNATURE", "wrong signature", { cause });
  }
}
export async function verifyAction(
  jws: string,
  operators: ReadonlyMap<string, Operator>,
  now: number,
): Promise<VerifiedAction> {
  const { operator, claims } = await open(jws, operators, "moq-lb-action+jwt");
  const { iat, ...action } = claims;
  if (Math.abs(now - iat * 1000) > 300_000) throw new AgentError("EXPIRED", "too old");
  return { action, operator, iat: iat * 1000 };
}
export async function verifyOperatorToken(
  jws: string,
  operators: ReadonlyMap<string, Operator>,
  now: number,
): Promise<VerifiedToken> {
  const { operator, claims } = await open(jws, operators, "moq-lb-operator+jwt");
  if (now > claims.exp * 1000) throw new AgentError("EXPIRED", "too old");
  return { operator, jti: claims.jti, exp: claims.exp * 1000 };
}

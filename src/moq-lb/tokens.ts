/**
 * MOQT authorization tokens as a policy sees them, and how one request without a session yields
 * them.
 *
 * @module
 */

import { type MessageParameter, MoqtError } from "../moqt/mod.ts";

/** A token by value: an alias stands for one, policies never see it. */
export interface AuthorizationToken {
  /** 0: the kind of token is agreed out of band. */
  readonly tokenType: bigint;
  readonly tokenValue: Uint8Array;
}

const none: readonly AuthorizationToken[] = [];

/**
 * The tokens of a request that comes without a session. There is no alias cache then, as for a
 * session that announces MAX_AUTH_TOKEN_CACHE_SIZE 0, and the same rules hold (MOQT §8.9):
 * registering is an overflow, and every alias is unknown.
 *
 * @throws {MoqtError} AUTH_TOKEN_CACHE_OVERFLOW for REGISTER, UNKNOWN_AUTH_TOKEN_ALIAS for
 *   USE_ALIAS and DELETE
 */
export function tokensWithoutSession(
  parameters: readonly MessageParameter[],
): readonly AuthorizationToken[] {
  let tokens: AuthorizationToken[] | undefined;
  for (const parameter of parameters) {
    if (parameter.type !== "AUTHORIZATION_TOKEN") continue;
    const { token } = parameter;
    if (token.aliasType === "REGISTER") {
      throw new MoqtError(
        "AUTH_TOKEN_CACHE_OVERFLOW",
        "a token cannot be registered outside a session: send it by value",
      );
    }
    if (token.aliasType !== "USE_VALUE") {
      throw new MoqtError(
        "UNKNOWN_AUTH_TOKEN_ALIAS",
        "a token alias stands for nothing outside a session: send the token by value",
      );
    }
    tokens ??= [];
    tokens.push(token);
  }
  return tokens ?? none;
}

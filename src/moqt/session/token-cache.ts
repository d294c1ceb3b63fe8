/**
 * Aliases of authorization tokens (MOQT draft 22 §8.9).
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import { MoqtError } from "../errors.ts";
import type { MessageParameter } from "../parameter.ts";
import type { Token } from "../token.ts";

/** A token by value, as its policy sees it. */
export interface TokenValue {
  /** 0: the kind of token is agreed out of band. */
  readonly tokenType: bigint;
  readonly tokenValue: Uint8Array;
}

/** What the standard counts for a token besides its value. */
const BYTES_PER_TOKEN = 16;

const noTokens: readonly TokenValue[] = [];

/** The tokens that one endpoint has registered at the other. */
export class TokenCache {
  readonly #maximumBytes: number;
  readonly #tokens = new Map<bigint, TokenValue>();
  #bytes = 0;

  /** @param maximumBytes the MAX_AUTH_TOKEN_CACHE_SIZE of the endpoint that keeps the tokens */
  constructor(maximumBytes: bigint) {
    this.#maximumBytes = Number(maximumBytes);
  }

  /** Bytes of the registered tokens, as the standard counts them. */
  get bytes(): number {
    return this.#bytes;
  }

  copy(): TokenCache {
    const copy = new TokenCache(BigInt(this.#maximumBytes));
    for (const [alias, token] of this.#tokens) copy.#tokens.set(alias, token);
    copy.#bytes = this.#bytes;
    return copy;
  }

  /**
   * Applies a token of SETUP, which is never refused for lack of room: it then counts by value.
   *
   * @throws {MoqtError} DUPLICATE_AUTH_TOKEN_ALIAS
   */
  resolveInSetup(token: Token): TokenValue | undefined {
    const registers = token.aliasType === "REGISTER";
    return registers && !this.#tokens.has(token.alias) && !this.#hasRoomFor(token)
      ? token
      : this.resolve(token);
  }

  /**
   * Applies one token of a message, and keeps what it registers whatever becomes of the message.
   *
   * @returns `undefined` for DELETE
   * @throws {MoqtError} AUTH_TOKEN_CACHE_OVERFLOW, DUPLICATE_AUTH_TOKEN_ALIAS or
   *   UNKNOWN_AUTH_TOKEN_ALIAS
   */
  resolve(token: Token): TokenValue | undefined {
    switch (token.aliasType) {
      case "USE_VALUE":
        return token;
      case "REGISTER":
        return this.#register(token);
      case "USE_ALIAS":
        return this.#known(token.alias);
      case "DELETE":
        this.#bytes -= sizeOf(this.#known(token.alias));
        this.#tokens.delete(token.alias);
        return undefined;
    }
  }

  #register(token: Token & { aliasType: "REGISTER" }): TokenValue {
    if (this.#tokens.has(token.alias)) {
      throw new MoqtError(
        "DUPLICATE_AUTH_TOKEN_ALIAS",
        `token alias ${token.alias} is registered already`,
      );
    }
    if (!this.#hasRoomFor(token)) {
      throw new MoqtError(
        "AUTH_TOKEN_CACHE_OVERFLOW",
        `a token cache of ${this.#maximumBytes} bytes has no room for ${sizeOf(token)} more`,
      );
    }
    const { tokenType, tokenValue } = token;
    this.#bytes += sizeOf(token);
    // A copy: the value is a view of its message, which is not to be kept for it.
    this.#tokens.set(token.alias, { tokenType, tokenValue: new Uint8Array(tokenValue) });
    return token;
  }

  #known(alias: bigint): TokenValue {
    const token = this.#tokens.get(alias);
    if (token !== undefined) return token;
    throw new MoqtError("UNKNOWN_AUTH_TOKEN_ALIAS", `token alias ${alias} is not registered`);
  }

  #hasRoomFor(token: TokenValue): boolean {
    return this.#bytes + sizeOf(token) <= this.#maximumBytes;
  }
}

function sizeOf({ tokenValue }: TokenValue): number {
  return BYTES_PER_TOKEN + tokenValue.length;
}

/** The tokens among `parameters`, in order. */
export function tokensOf(parameters: readonly MessageParameter[]): readonly Token[] {
  const first = parameters.findIndex(({ type }) => type === "AUTHORIZATION_TOKEN");
  if (first < 0) return [];
  return parameters.flatMap((parameter) =>
    parameter.type === "AUTHORIZATION_TOKEN" ? [parameter.token] : [],
  );
}

/**
 * The values of the tokens of one message, after all of them were applied to `cache`.
 *
 * @throws {MoqtError} as `TokenCache.resolve`
 */
export function resolveTokens(
  parameters: readonly MessageParameter[],
  cache: TokenCache,
): readonly TokenValue[] {
  const tokens = tokensOf(parameters);
  if (tokens.length === 0) return noTokens;
  return tokens.flatMap((token) => cache.resolve(token) ?? []);
}

/** Whether two of `tokens` are the same, which no message may contain. */
export function hasRepeatedToken(tokens: readonly TokenValue[]): boolean {
  if (tokens.length < 2) return false;
  const seen = new Set<string>();
  for (const { tokenType, tokenValue } of tokens) seen.add(`${tokenType}:${toHex(tokenValue)}`);
  return seen.size < tokens.length;
}

/**
 * Authorization tokens (MOQT draft 22 §8.9). A token value is a secret: it goes into no error
 * message, no log and no JSON.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";

/** A token, or an alias of one, as it stands in a message. */
export type Token =
  | { readonly aliasType: "DELETE"; readonly alias: bigint }
  | {
      readonly aliasType: "REGISTER";
      readonly alias: bigint;
      readonly tokenType: bigint;
      readonly tokenValue: Uint8Array;
    }
  | { readonly aliasType: "USE_ALIAS"; readonly alias: bigint }
  | {
      readonly aliasType: "USE_VALUE";
      readonly tokenType: bigint;
      readonly tokenValue: Uint8Array;
    };

/** Alias Types by their number on the wire. */
const aliasTypes = ["DELETE", "REGISTER", "USE_ALIAS", "USE_VALUE"] as const;

/**
 * Reads a length-prefixed Token.
 *
 * @throws {MoqtError} KEY_VALUE_FORMATTING_ERROR where the bytes are no Token
 */
export function readToken(reader: ByteReader): Token {
  const length = reader.size("length of the token");
  const inner = reader.within(length, "token", "KEY_VALUE_FORMATTING_ERROR");
  const start = inner.offset;
  const aliasType = aliasTypes[Number(inner.varint("Alias Type"))];
  switch (aliasType) {
    case "DELETE":
    case "USE_ALIAS": {
      const alias = inner.varint("Token Alias");
      inner.expectEnd("Token Alias");
      return { aliasType, alias };
    }
    case "REGISTER": {
      const alias = inner.varint("Token Alias");
      return { aliasType, alias, ...readTokenValue(inner) };
    }
    case "USE_VALUE":
      return { aliasType, ...readTokenValue(inner) };
    default:
      throw inner.fault("Alias Type is not 0, 1, 2 or 3", start);
  }
}

function readTokenValue(reader: ByteReader): { tokenType: bigint; tokenValue: Uint8Array } {
  const tokenType = reader.varint("Token Type");
  return { tokenType, tokenValue: reader.bytes(reader.remaining, "Token Value") };
}

/** Writes a length-prefixed Token. */
export function writeToken(writer: ByteWriter, token: Token): void {
  writer.lengthPrefixed(encodeToken(token), "token");
}

/** The bytes of a Token, without its length. */
export function encodeToken(token: Token): Uint8Array {
  const code = aliasTypes.indexOf(token.aliasType);
  if (code < 0) throw new MoqtEncodingError("token has an unknown Alias Type");
  const writer = new ByteWriter();
  writer.varint(code, "Alias Type");
  if (token.aliasType !== "USE_VALUE") writer.varint(token.alias, "Token Alias");
  if (token.aliasType === "REGISTER" || token.aliasType === "USE_VALUE") {
    writer.varint(token.tokenType, "Token Type");
    writer.bytes(token.tokenValue);
  }
  return writer.toBytes();
}

/**
 * Setup Options: Key-Value-Pairs, so that unknown ones can be skipped over.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";
import { type KeyValuePair, readKey, readValue, writeKeyValuePairs } from "./key-value.ts";
import { readText } from "./text.ts";
import { encodeToken, readToken, type Token } from "./token.ts";

/** One Setup Option. Options that the draft does not define are kept, and mean nothing. */
export type SetupOption =
  | { readonly type: "PATH"; readonly value: string }
  | { readonly type: "AUTHORIZATION_TOKEN"; readonly token: Token }
  /** Bytes, as MOQT counts a token cache: 16 more than the value for each token. */
  | { readonly type: "MAX_AUTH_TOKEN_CACHE_SIZE"; readonly value: bigint }
  | { readonly type: "AUTHORITY"; readonly value: string }
  /** 0: no Range Filters. */
  | { readonly type: "MAX_FILTER_RANGES"; readonly value: bigint }
  | { readonly type: "MOQT_IMPLEMENTATION"; readonly value: string }
  /** Outstanding updates for each request stream; 0: no limit. */
  | { readonly type: "MAX_REQUEST_UPDATES"; readonly value: bigint }
  | {
      readonly type: "UNKNOWN";
      readonly optionType: bigint;
      /** An integer where `optionType` is even, bytes where it is odd. */
      readonly value: bigint | Uint8Array;
    };

export type SetupOptionName = Exclude<SetupOption["type"], "UNKNOWN">;

const typeOfName: Readonly<Record<SetupOptionName, bigint>> = {
  PATH: 0x01n,
  AUTHORIZATION_TOKEN: 0x03n,
  MAX_AUTH_TOKEN_CACHE_SIZE: 0x04n,
  AUTHORITY: 0x05n,
  MAX_FILTER_RANGES: 0x06n,
  MOQT_IMPLEMENTATION: 0x07n,
  MAX_REQUEST_UPDATES: 0x08n,
};

const nameOfType: ReadonlyMap<bigint, SetupOptionName> = new Map(
  Object.entries(typeOfName).map(([name, type]) => [type, name as SetupOptionName]),
);

/**
 * Reads options up to the end of `reader`.
 *
 * @param absent options that the draft does not know
 * @throws {MoqtError} PROTOCOL_VIOLATION for a second option of a known type other than
 *   AUTHORIZATION_TOKEN, and for a token that deletes or uses an alias
 */
export function readSetupOptions(
  reader: ByteReader,
  absent: readonly SetupOptionName[],
): SetupOption[] {
  const options: SetupOption[] = [];
  let type = 0n;
  while (!reader.done) {
    const start = reader.offset;
    const previous = options.length === 0 ? undefined : type;
    type = readKey(reader, type);
    const name = knownName(type, absent);
    if (type === previous && name !== undefined && name !== "AUTHORIZATION_TOKEN") {
      throw reader.fault(`Setup Option ${name} is repeated`, start);
    }
    options.push(readOption(reader, type, name));
  }
  return options;
}

function readOption(
  reader: ByteReader,
  type: bigint,
  name: SetupOptionName | undefined,
): SetupOption {
  switch (name) {
    case "PATH":
    case "AUTHORITY":
    case "MOQT_IMPLEMENTATION":
      return { type: name, value: readText(reader, name) };
    case "MAX_AUTH_TOKEN_CACHE_SIZE":
    case "MAX_FILTER_RANGES":
    case "MAX_REQUEST_UPDATES":
      return { type: name, value: reader.varint(name) };
    case "AUTHORIZATION_TOKEN": {
      const start = reader.offset;
      const token = readToken(reader);
      if (!isSetupToken(token)) {
        throw reader.fault(`SETUP carries a token of type ${token.aliasType}`, start);
      }
      return { type: name, token };
    }
    default:
      return { type: "UNKNOWN", optionType: type, value: readValue(reader, type) };
  }
}

/**
 * Writes options in ascending order of type.
 *
 * @throws {MoqtEncodingError} an option that the draft does not know, or a repeated one
 */
export function writeSetupOptions(
  writer: ByteWriter,
  options: readonly SetupOption[],
  absent: readonly SetupOptionName[],
): void {
  const seen = new Set<SetupOptionName>();
  for (const option of options) {
    if (option.type === "UNKNOWN") {
      const name = knownName(option.optionType, absent);
      if (name !== undefined) throw new MoqtEncodingError(`Setup Option ${name} is not unknown`);
      continue;
    }
    if (absent.includes(option.type)) {
      throw new MoqtEncodingError(`this draft has no Setup Option ${option.type}`);
    }
    if (seen.has(option.type) && option.type !== "AUTHORIZATION_TOKEN") {
      throw new MoqtEncodingError(`Setup Option ${option.type} is repeated`);
    }
    seen.add(option.type);
  }
  writeKeyValuePairs(writer, options.map(pairOf));
}

function pairOf(option: SetupOption): KeyValuePair {
  switch (option.type) {
    case "UNKNOWN":
      return { type: option.optionType, value: option.value };
    case "AUTHORIZATION_TOKEN":
      return { type: typeOfName[option.type], value: setupTokenBytes(option.token) };
    default: {
      const { value } = option;
      return {
        type: typeOfName[option.type],
        value: typeof value === "string" ? utf8(value) : value,
      };
    }
  }
}

function setupTokenBytes(token: Token): Uint8Array {
  if (isSetupToken(token)) return encodeToken(token);
  throw new MoqtEncodingError(`SETUP cannot carry a token of type ${token.aliasType}`);
}

/** No alias exists yet when a SETUP is sent, so that it can only register or carry a value. */
function isSetupToken(token: Token): boolean {
  return token.aliasType === "REGISTER" || token.aliasType === "USE_VALUE";
}

function knownName(type: bigint, absent: readonly SetupOptionName[]): SetupOptionName | undefined {
  const name = nameOfType.get(type);
  return name === undefined || absent.includes(name) ? undefined : name;
}

/**
 * The answer to a client that is turned away: an Initial packet with CONNECTION_CLOSE.
 *
 * It is made here and not by quiche, so that such a client costs no connection; the keys of Initial
 * packets follow from the client's own connection ID (RFC 9001 §5.2).
 *
 * @module
 */

import { createCipheriv, createHmac } from "node:crypto";
import { concatBytes, utf8 } from "../../../bytes.ts";
import { VERSION_1 } from "./header.ts";

const SALT_VERSION_1 = Uint8Array.of(
  ...[0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17],
  ...[0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a],
);
const TAG_LENGTH = 16;
const PACKET_NUMBER_LENGTH = 1;
/** CONNECTION_CLOSE of the transport (RFC 9000 §19.19), and the code CONNECTION_REFUSED (§20.1). */
const CONNECTION_CLOSE = 0x1c;
const CONNECTION_REFUSED = 0x02;

/** Keys that protect the Initial packets of one side. */
export interface InitialKeys {
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  /** Of the header protection. */
  readonly hp: Uint8Array;
}

/**
 * The packet that refuses the client whose Initial had these connection IDs.
 *
 * @param reason a few words of ASCII
 */
export function refusalPacket(
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  reason: string,
): Uint8Array {
  const words = utf8(reason);
  const payload = concatBytes(
    Uint8Array.of(CONNECTION_CLOSE, CONNECTION_REFUSED, 0, words.length),
    words,
  );
  const length = PACKET_NUMBER_LENGTH + payload.length + TAG_LENGTH;
  const header = concatBytes(
    Uint8Array.of(0xc0 | (PACKET_NUMBER_LENGTH - 1), 0, 0, 0, VERSION_1),
    Uint8Array.of(sourceId.length),
    sourceId,
    Uint8Array.of(destinationId.length),
    destinationId,
    // No token; the length as a varint of two bytes; packet number 0.
    Uint8Array.of(0, 0x40 | (length >> 8), length & 0xff, 0),
  );
  return protect(serverInitialKeys(destinationId), header, payload);
}

/** What a server protects its Initials with (RFC 9001 §5.2). */
export function serverInitialKeys(destinationId: Uint8Array): InitialKeys {
  const initialSecret = hmac(SALT_VERSION_1, destinationId);
  const secret = expandLabel(initialSecret, "server in", 32);
  return {
    key: expandLabel(secret, "quic key", 16),
    iv: expandLabel(secret, "quic iv", 12),
    hp: expandLabel(secret, "quic hp", 16),
  };
}

/** Seals packet 0 and masks its header (RFC 9001 §5.3, §5.4). */
function protect(keys: InitialKeys, header: Uint8Array, payload: Uint8Array): Uint8Array {
  // The nonce is the IV, XORed with the packet number, which is 0.
  const cipher = createCipheriv("aes-128-gcm", keys.key, keys.iv);
  cipher.setAAD(header);
  const sealed = concatBytes(cipher.update(payload), cipher.final(), cipher.getAuthTag());
  const packet = concatBytes(header, sealed);
  const numberAt = header.length - PACKET_NUMBER_LENGTH;
  const sample = packet.subarray(numberAt + 4, numberAt + 4 + 16);
  const mask = createCipheriv("aes-128-ecb", keys.hp, null).update(sample);
  packet[0] = (packet[0] as number) ^ ((mask[0] as number) & 0x0f);
  packet[numberAt] = (packet[numberAt] as number) ^ (mask[1] as number);
  return packet;
}

/** HKDF-Expand-Label of TLS 1.3 (RFC 8446 §7.1) without context, for at most one block. */
function expandLabel(secret: Uint8Array, label: string, length: number): Uint8Array {
  const name = utf8(`tls13 ${label}`);
  const info = concatBytes(Uint8Array.of(0, length, name.length), name, Uint8Array.of(0, 1));
  return hmac(secret, info).subarray(0, length);
}

function hmac(key: Uint8Array, input: Uint8Array): Uint8Array {
  return new Uint8Array(createHmac("sha256", key).update(input).digest());
}

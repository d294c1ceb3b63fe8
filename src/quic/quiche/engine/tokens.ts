/**
 * What a server can check without having kept anything: Retry tokens (RFC 9000 §8.1.2) and
 * stateless reset tokens (§10.3), both from one secret.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { concatBytes, utf8 } from "../../../bytes.ts";
import type { Address } from "../messages.ts";

/** Milliseconds in which a client has to come back with a token. */
const RETRY_LIFETIME = 10_000;
const TIME_LENGTH = 6;
const MAC_LENGTH = 16;
const MAX_ID_LENGTH = 20;

/**
 * A token for the Retry packet to `client`.
 *
 * It proves, when it comes back, that the client receives at its address; it carries the
 * destination ID that the client began with, which the handshake has to confirm.
 *
 * @param firstId the Destination Connection ID of the client's first Initial
 * @param retryId the Source Connection ID of the Retry, which the client uses from then on
 * @param now milliseconds of the Unix epoch
 */
export function retryToken(
  secret: Uint8Array,
  client: Address,
  firstId: Uint8Array,
  retryId: Uint8Array,
  now: number,
): Uint8Array {
  const time = new Uint8Array(8);
  new DataView(time.buffer).setBigUint64(0, BigInt(Math.trunc(now)));
  const claims = concatBytes(time.subarray(8 - TIME_LENGTH), firstId);
  return concatBytes(claims, retryMac(secret, client, claims, retryId));
}

/**
 * The destination ID that the client began with, where `token` is one of ours for `client` and
 * `retryId`, and not too old; else `undefined`.
 */
export function openRetryToken(
  secret: Uint8Array,
  client: Address,
  token: Uint8Array,
  retryId: Uint8Array,
  now: number,
): Uint8Array | undefined {
  const idLength = token.length - TIME_LENGTH - MAC_LENGTH;
  if (idLength < 0 || idLength > MAX_ID_LENGTH) return undefined;
  const claims = token.subarray(0, TIME_LENGTH + idLength);
  const mac = retryMac(secret, client, claims, retryId);
  if (!timingSafeEqual(mac, token.subarray(claims.length))) return undefined;
  const time = concatBytes(new Uint8Array(8 - TIME_LENGTH), claims.subarray(0, TIME_LENGTH));
  const age = now - Number(new DataView(time.buffer).getBigUint64(0));
  return age >= 0 && age <= RETRY_LIFETIME ? claims.slice(TIME_LENGTH) : undefined;
}

function retryMac(
  secret: Uint8Array,
  client: Address,
  claims: Uint8Array,
  retryId: Uint8Array,
): Uint8Array {
  const origin = utf8(`${client.host} ${client.port}`);
  const lengths = Uint8Array.of(origin.length, claims.length, retryId.length);
  const input = concatBytes(utf8("retry"), lengths, origin, claims, retryId);
  return shortMac(secret, input);
}

/** The token that lets the peer believe a stateless reset of the connection with `id`. */
export function resetToken(secret: Uint8Array, id: Uint8Array): Uint8Array {
  return shortMac(secret, concatBytes(utf8("reset"), id));
}

function shortMac(secret: Uint8Array, input: Uint8Array): Uint8Array {
  const mac = createHmac("sha256", secret).update(input).digest();
  return new Uint8Array(mac.subarray(0, MAC_LENGTH));
}

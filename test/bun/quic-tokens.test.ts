/** What the quiche back-end proves and protects without quiche. */

import { describe, expect, test } from "bun:test";
import { fromHex, toHex } from "../../src/bytes.ts";
import { refusalPacket, serverInitialKeys } from "../../src/quic/quiche/engine/refusal.ts";
import { openRetryToken, resetToken, retryToken } from "../../src/quic/quiche/engine/tokens.ts";

const secret = new Uint8Array(32).fill(1);
const client = { host: "192.0.2.1", port: 4433 };
const firstId = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const retryId = Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1);
const now = 1_800_000_000_000;

describe("Retry tokens", () => {
  const token = retryToken(secret, client, firstId, retryId, now);

  test("give the first connection ID back to the client that they were made for", () => {
    expect(openRetryToken(secret, client, token, retryId, now + 9_000)).toEqual(firstId);
  });

  test("hold for one address, port, ID, secret and some seconds only", () => {
    const open = (changes: {
      secret?: Uint8Array;
      client?: typeof client;
      retryId?: Uint8Array;
      now?: number;
    }) =>
      openRetryToken(
        changes.secret ?? secret,
        changes.client ?? client,
        token,
        changes.retryId ?? retryId,
        changes.now ?? now,
      );
    expect(open({})).toEqual(firstId);
    expect(open({ secret: new Uint8Array(32) })).toBeUndefined();
    expect(open({ client: { ...client, host: "192.0.2.2" } })).toBeUndefined();
    expect(open({ client: { ...client, port: 4434 } })).toBeUndefined();
    expect(open({ retryId: firstId })).toBeUndefined();
    expect(open({ now: now + 10_001 })).toBeUndefined();
    expect(open({ now: now - 1 })).toBeUndefined();
  });

  test("are void with any bit changed, and at any other length", () => {
    for (let bit = 0; bit < token.length * 8; bit++) {
      const changed = token.slice();
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(openRetryToken(secret, client, changed, retryId, now)).toBeUndefined();
    }
    for (let length = 0; length < 80; length++) {
      const other = new Uint8Array(length);
      other.set(token.subarray(0, length));
      if (length !== token.length) {
        expect(openRetryToken(secret, client, other, retryId, now)).toBeUndefined();
      }
    }
  });

  test("differ from reset tokens, which are one for each connection ID", () => {
    expect(resetToken(secret, firstId)).toEqual(resetToken(secret, firstId));
    expect(resetToken(secret, firstId)).not.toEqual(resetToken(secret, retryId));
    expect(resetToken(secret, firstId)).toHaveLength(16);
  });
});

describe("the refusal of a connection", () => {
  test("is protected by the keys of RFC 9001 appendix A.1", () => {
    const keys = serverInitialKeys(fromHex("8394c8f03e515708") as Uint8Array);
    expect(toHex(keys.key)).toBe("cf3a5331653c364c88f0f379b6067e37");
    expect(toHex(keys.iv)).toBe("0ac1493ca1905853b0bba03e");
    expect(toHex(keys.hp)).toBe("c206b8d9b9f0f37644430b490eeaa314");
  });

  test("is an Initial of version 1 to the client's connection ID", () => {
    const packet = refusalPacket(firstId, retryId, "busy");
    expect((packet[0] as number) & 0xf0).toBe(0xc0);
    expect([...packet.subarray(1, 6)]).toEqual([0, 0, 0, 1, 8]);
    expect(packet.subarray(6, 14)).toEqual(retryId);
  });
});

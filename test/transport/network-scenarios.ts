/**
 * Transports over sockets, each held to the scenarios of every transport, and what is particular
 * to WebTransport over HTTP/2.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../src/bytes.ts";
import { quicVarints } from "../../src/http3/quic-varint.ts";
import { connectWebTransportH2 } from "../../src/transport/webtransport-h2.ts";
import { type Gap, transportScenarios } from "../support/transport-scenarios.ts";
import { h2Pair, http3Pair, quicPair } from "./network-pairs.ts";
import { cutOff, goAwayServer, rawH2 } from "./raw-h2.ts";

/** @param gaps of the runtime's QUIC stack */
export function networkScenarios(gaps: readonly Gap[]): void {
  transportScenarios("raw QUIC", quicPair, gaps);
  transportScenarios("WebTransport over HTTP/3 on QUIC", http3Pair, gaps);
  transportScenarios("WebTransport over HTTP/2", h2Pair);
  http2Scenarios();
}

function http2Scenarios(): void {
  describe("a WebTransport session over HTTP/2", () => {
    test("tells what the CONNECT request said, and chooses the server's favourite", async () => {
      const { client, server, dispose } = await h2Pair({
        path: "/live?tenant=a",
        offered: ["moqt-17", "moqt-18", "moqt-22"],
        headers: { authorization: "Bearer abc.def", origin: "https://player.example" },
      });
      assert.deepEqual([client.protocol, server.protocol], ["moqt-22", "moqt-22"]);
      assert.equal(server.path, "/live?tenant=a");
      assert.match(server.authority ?? "", /^127\.0\.0\.1:\d+$/);
      assert.equal(server.origin, "https://player.example");
      assert.equal(server.bearerToken, "abc.def");
      assert.match(server.remote, /^127\.0\.0\.1:\d+$/);
      await dispose?.();
      assert.equal((await client.closed).app, true);
      assert.equal(await client.accept(), null);
    });

    test("is refused without a common protocol, by a policy, and by another certificate", async () => {
      const failed = { code: "CONNECT_FAILED" };
      await assert.rejects(h2Pair({ offered: ["moqt-17"] }), failed);
      await assert.rejects(h2Pair({ accept: () => ({ status: 403 }) }), failed);
      const errors: unknown[] = [];
      const onError = (error: unknown) => errors.push(error);
      const broken = () => {
        throw new Error("a policy that breaks");
      };
      await assert.rejects(h2Pair({ accept: broken, onError }), failed);
      await assert.rejects(h2Pair({ accept: () => ({ protocol: "other" }), onError }), failed);
      assert.match(String(errors), /a policy that breaks.*not offered/);
      await assert.rejects(h2Pair({ certificateHash: new Uint8Array(32) }), failed);
    });

    test("ends as lost where the connection goes", async () => {
      const { client, server, dispose } = await h2Pair();
      const stream = await client.openBidi();
      await stream.write(new Uint8Array(10));
      cutOff(server);
      const close = await client.closed;
      assert.deepEqual([close.by, close.app], ["remote", false]);
      await assert.rejects(stream.read(), { code: "CONNECTION_CLOSED" });
      await dispose?.();
    });

    test("leaves a server in peace where clients say GOAWAY", async () => {
      const raw = await rawH2();
      for (let round = 0; round < 20; round++) {
        await Promise.all([raw.goAway(noError), raw.goAway(enhanceYourCalm)]);
      }
      assert(await raw.serves());
      await raw.dispose();
    });

    test("fails, and no more than that, where the server says GOAWAY first", async () => {
      for (const code of [noError, enhanceYourCalm]) {
        const { url, certificateHash, dispose } = await goAwayServer(code);
        const options = { protocols: ["moqt-22"], certificateHashes: [certificateHash] };
        const attempts = Array.from({ length: 10 }, () =>
          assert.rejects(connectWebTransportH2(url, { ...options, connectTimeout: 500 }), {
            code: "CONNECT_FAILED",
          }),
        );
        await Promise.all(attempts);
        dispose();
      }
    });

    test("takes arbitrary capsules without harm to others", async () => {
      const raw = await rawH2();
      const { by, app } = await raw.send(new Uint8Array());
      assert.deepEqual([by, app], ["remote", false]);
      const harmless = fc.asyncProperty(capsules, async (bytes) => {
        assert((await raw.send(bytes)).code >= 0n);
      });
      await fc.assert(harmless, { numRuns: 50 });
      assert(await raw.serves());
      await raw.dispose();
    });
  });
}

/** Error codes of HTTP/2 (RFC 9113 §7). */
const noError = 0x0;
const enhanceYourCalm = 0xb;

/** Stream ids and limits as a peer may name them: small ones, and some that are far off. */
const integer = fc.oneof(fc.nat(12), fc.constantFrom(2 ** 20, 2 ** 53 - 1));

const capsule = fc
  .tuple(fc.integer({ min: 0x190b_4d38, max: 0x190b_4d45 }), fc.array(integer, { maxLength: 4 }))
  .map(([type, fields]) => {
    const body = quicVarints(...fields);
    return concatBytes(quicVarints(type, body.length), body);
  });

const capsules = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.array(capsule, { maxLength: 8 }).map((parts) => concatBytes(...parts)),
);

/** Transports over sockets, which Bun and Deno have and Workers have not. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { quicVarints } from "../../../src/http3/quic-varint.ts";
import { transportScenarios } from "../../support/transport-scenarios.ts";

if (navigator.userAgent !== "Cloudflare-Workers") {
  // By name, so that the bundle for Workers does not include it.
  const support = "../../support/network-pairs.ts";
  const pairs = (await import(support)) as typeof import("../../support/network-pairs.ts");
  webTransportOverHttp2(pairs);
}

function webTransportOverHttp2(pairs: typeof import("../../support/network-pairs.ts")): void {
  transportScenarios("WebTransport over HTTP/2", pairs.h2Pair);

  describe("a WebTransport session over HTTP/2", () => {
    test("tells what the CONNECT request said, and chooses the server's favourite", async () => {
      const { client, server, dispose } = await pairs.h2Pair({
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
      await assert.rejects(pairs.h2Pair({ offered: ["moqt-17"] }), failed);
      await assert.rejects(pairs.h2Pair({ accept: () => ({ status: 403 }) }), failed);
      const broken = () => {
        throw new Error("a policy that breaks");
      };
      await assert.rejects(pairs.h2Pair({ accept: broken }), failed);
      await assert.rejects(pairs.h2Pair({ certificateHash: new Uint8Array(32) }), failed);
    });

    test("ends as lost where the connection goes", async () => {
      const { client, server, dispose } = await pairs.h2Pair({ idleTimeout: 100 });
      const stream = await client.openBidi();
      await stream.write(new Uint8Array(10));
      pairs.cutOff(server);
      const close = await client.closed;
      assert.deepEqual([close.by, close.app], ["remote", false]);
      await assert.rejects(stream.read(), { code: "CONNECTION_CLOSED" });
      await dispose?.();
    });

    test("takes arbitrary capsules without harm to others", async () => {
      const raw = await pairs.rawH2();
      const { by, app } = await raw.send(new Uint8Array());
      assert.deepEqual([by, app], ["remote", false]);
      const capsule = fc
        .tuple(
          fc.integer({ min: 0x190b_4d38, max: 0x190b_4d45 }),
          fc.array(integer, { maxLength: 4 }),
        )
        .map(([type, fields]) => {
          const body = quicVarints(...fields);
          return concatBytes(quicVarints(type, body.length), body);
        });
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 100 }),
        fc.array(capsule, { maxLength: 8 }).map((capsules) => concatBytes(...capsules)),
      );
      const harmless = fc.asyncProperty(bytes, async (sent) => {
        assert((await raw.send(sent)).code >= 0n);
      });
      await fc.assert(harmless, { numRuns: 50 });
      assert(await raw.serves());
      await raw.dispose();
    });
  });
}

/** Stream ids and limits as a peer may name them: small ones, and some that are far off. */
const integer = fc.oneof(fc.nat(12), fc.constantFrom(2 ** 20, 2 ** 53 - 1));

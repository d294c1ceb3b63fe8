import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type {
  AuthorizationPolicy,
  AuthorizationRequest,
  SessionAuthorizationRequest,
} from "../../../src/moq-lb/mod.ts";
import { encodeControlMessage } from "../../../src/moqt/mod.ts";
import { RawPeer } from "../../support/raw-peer.ts";
import {
  assertServes,
  RedirectBed,
  subscribeBytes,
  tokenParameter,
} from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

const setup = encodeControlMessage(
  {
    type: "SETUP",
    options: [
      {
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "REGISTER", alias: 1n, tokenType: 0n, tokenValue: utf8("of SETUP") },
      },
    ],
  },
  22,
);

/** A client of a balancer with `policy`, over what says that it is WebTransport. */
function clientOf(policy: AuthorizationPolicy) {
  const bed = new RedirectBed({ authorization: policy, ownServiceUris: [], tenantOf: () => "t1" });
  const [near, far] = memoryTransportPair({
    kind: "webtransport-h3",
    request: { path: "/moqt?x=1", authority: "lb.example", bearerToken: "of CONNECT" },
  });
  void bed.server.serve(far);
  return { peer: new RawPeer(near), bed };
}

describe("authorization of a session", () => {
  test("sees what the client showed, and so does each of its requests [LB-SEC-1] [LB-SEC-4]", async () => {
    const sessions: SessionAuthorizationRequest[] = [];
    const requests: AuthorizationRequest[] = [];
    const { peer } = clientOf({
      name: "recording",
      authorizeSession: (session) => sessions.push(session) > 0,
      authorize: (request) => requests.push(request) > 0,
    });
    await peer.setup(setup);
    await assertServes(peer, 0);
    await peer.refusal(subscribeBytes(2, [tokenParameter(2, "of the request")]));
    const shown = { bearerToken: "of CONNECT", authority: "lb.example", tenant: "t1" };
    const ofSetup = { tokenType: 0n, tokenValue: utf8("of SETUP") };
    const values = (tokens: AuthorizationRequest["tokens"]) =>
      tokens.map(({ tokenType, tokenValue }) => ({ tokenType, tokenValue }));
    assert.equal(sessions.length, 1);
    const [{ tokens, ...rest }] = sessions as [SessionAuthorizationRequest];
    assert.deepEqual(rest, { ...shown, path: "/moqt?x=1" });
    assert.deepEqual(values(tokens), [ofSetup]);
    const [first, second] = requests as [AuthorizationRequest, AuthorizationRequest];
    assert.deepEqual(values(first.tokens), [ofSetup]);
    assert.deepEqual(values(second.tokens), [
      { tokenType: 0n, tokenValue: utf8("of the request") },
      ofSetup,
    ]);
    for (const { bearerToken, authority, tenant } of requests) {
      assert.deepEqual({ bearerToken, authority, tenant }, shown);
    }
  });

  test("keeps requests waiting while it takes its time, in their order [LB-SEC-11]", async () => {
    const decided = Promise.withResolvers<boolean>();
    const asked: bigint[] = [];
    const { peer, bed } = clientOf({
      name: "slow",
      authorizeSession: () => decided.promise,
      authorize: ({ trackName }) => asked.push(BigInt(trackName?.length ?? 0)) > 0,
    });
    await peer.setup(setup);
    const answers = [peer.refusal(subscribeBytes(0)), peer.refusal(subscribeBytes(2))];
    await settle();
    assert.equal(asked.length, 0);
    decided.resolve(true);
    await Promise.all(answers);
    await assertServes(peer, 4);
    assert.equal(asked.length, 3);
    assert.equal(bed.server.status().sessions, 1);
  });

  test("that refuses closes with UNAUTHORIZED, and answers nothing that waited [LB-SEC-11]", async () => {
    for (const answer of [false, { granted: false }, Promise.resolve(false)]) {
      let asked = 0;
      const { peer } = clientOf({
        name: "closed",
        authorizeSession: () => answer,
        authorize: () => ++asked > 0,
      });
      await peer.setup(setup);
      const early = peer.open(subscribeBytes(0)).catch(() => {});
      await peer.closedWith("UNAUTHORIZED");
      await early;
      await settle();
      assert.equal(asked, 0);
    }
  });

  test("that fails closes with INTERNAL_ERROR, and tells its fault without its message", async () => {
    const failing = [
      () => {
        throw new RangeError("a secret");
      },
      () => Promise.reject(new RangeError("a secret")),
    ];
    for (const authorizeSession of failing) {
      const { peer, bed } = clientOf({ name: "broken", authorizeSession, authorize: () => true });
      await peer.setup(setup);
      const close = await peer.closedWith("INTERNAL_ERROR");
      await settle();
      assert.equal(close.reason.includes("secret"), false);
      const closed = bed.events.at(-1);
      assert.ok(closed?.type === "closed");
      assert.equal(closed.refusal, "RangeError");
    }
  });

  test("that is decided after the client has left does nothing", async () => {
    const decided = Promise.withResolvers<boolean>();
    const { peer, bed } = clientOf({
      name: "slow",
      authorizeSession: () => decided.promise,
      authorize: () => true,
    });
    await peer.setup(setup);
    await settle();
    peer.transport.close(0n, "");
    await settle();
    decided.resolve(false);
    await settle();
    const closed = bed.events.at(-1);
    assert.ok(closed?.type === "closed");
    assert.equal(closed.code, "NO_ERROR");
  });
});

/**
 * @moqt/transport, which nobody here wrote, as client of a balancer in redirect mode and as server
 * of our client, draft 18, in memory.
 */

import { describe, expect, test } from "bun:test";
import { SessionState } from "@moqt/transport";
import { utf8 } from "../../src/bytes.ts";
import { requestErrorCodes } from "../../src/moqt/mod.ts";
import { MoqtSession, type SessionGoaway } from "../../src/session/mod.ts";
import { RedirectBed } from "../support/redirect-bed.ts";
import { memoryTransportPair } from "../support/transport-pair.ts";
import { type Answer, MoqtTransportPeer } from "./moqt-transport-driver.ts";

const live = [utf8("live")];
const name = utf8("v");

/** A client that has exchanged SETUP with a balancer that sends (live) to r2. */
async function clientOfBalancer() {
  const bed = new RedirectBed({ ownServiceUris: ["moqt://lb.example/moq"] });
  const [near, far] = memoryTransportPair({ protocol: "moqt-18" });
  const served = bed.server.serve(far);
  const peer = new MoqtTransportPeer(near, "client");
  await peer.setup({ path: "/moq", authority: "lb.example", implementation: "@moqt/transport" });
  const { message } = await peer.hear();
  return { bed, peer, served, session: peer.session, setup: message };
}

/** Asserts that `answer` redirects to r2 with this name, ends its stream, and that the client agrees. */
function expectRedirect({ message, fin }: Answer, peer: MoqtTransportPeer, trackName = name) {
  expect(message).toMatchObject({
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes.REDIRECT,
    retryInterval: 0n,
    redirect: {
      connectUri: utf8("moqt://r2.example:4443/moq"),
      trackNamespace: live,
      trackName,
    },
  });
  expect(fin).toBe(true);
  expectOpen(peer);
}

function expectOpen({ session, closes }: MoqtTransportPeer) {
  expect(closes).toEqual([]);
  expect(session.state).toBe(SessionState.ESTABLISHED);
}

const noName = new Uint8Array(0);

describe("@moqt/transport as client of a balancer, draft 18", () => {
  test("agrees on SETUP in both directions", async () => {
    const { bed, peer, setup } = await clientOfBalancer();
    expect(setup.type).toBe("SETUP");
    expectOpen(peer);
    expect(bed.events).toMatchObject([
      { type: "opened", transport: "quic", draft: 18 },
      { type: "setup", implementation: "@moqt/transport" },
    ]);
  });

  test("takes REDIRECT for SUBSCRIBE, once for each track, and goes on [RD-01]", async () => {
    const { peer, session } = await clientOfBalancer();
    expectRedirect(await peer.ask(session.subscribe(live, name)), peer);
    const audio = utf8("audio");
    expectRedirect(await peer.ask(session.subscribe(live, audio)), peer, audio);
  });

  test("takes REDIRECT for a standalone FETCH", async () => {
    const { peer, session } = await clientOfBalancer();
    const range = { startGroup: 0n, startObject: 0n, endGroup: 5n, endObject: 0n };
    expectRedirect(await peer.ask(session.fetch(live, name, range)), peer);
  });

  test("takes REDIRECT for TRACK_STATUS [RQ-18]", async () => {
    const { peer, session } = await clientOfBalancer();
    expectRedirect(await peer.ask(session.trackStatus(live, name)), peer);
  });

  test("takes REDIRECT without a Track Name for namespace requests [RD-02]", async () => {
    const { peer, session } = await clientOfBalancer();
    expectRedirect(await peer.ask(session.publishNamespace(live)), peer, noName);
    expectRedirect(await peer.ask(session.subscribeNamespace(live)), peer, noName);
  });

  test("is told NOT_SUPPORTED where its draft has no REDIRECT, and keeps its session [RD-03]", async () => {
    const { peer, session } = await clientOfBalancer();
    for (const made of [
      () => session.publish(live, name, 7n),
      () => session.subscribeTracks(live),
    ]) {
      const { message, fin } = await peer.ask(made());
      expect(message).toMatchObject({
        type: "REQUEST_ERROR",
        errorCode: requestErrorCodes.NOT_SUPPORTED,
        retryInterval: 0n,
      });
      expect(message).not.toHaveProperty("redirect");
      expect(fin).toBe(true);
      expectOpen(peer);
    }
    expectRedirect(await peer.ask(session.subscribe(live, name)), peer);
  });

  test("is told that nobody knows a namespace without a route [RT-02]", async () => {
    const { peer, session } = await clientOfBalancer();
    const elsewhere = [utf8("elsewhere")];
    const { message } = await peer.ask(session.subscribe(elsewhere, name));
    expect(message).toMatchObject({ errorCode: requestErrorCodes.DOES_NOT_EXIST });
    const offer = await peer.ask(session.publishNamespace(elsewhere));
    expect(offer.message).toMatchObject({ errorCode: requestErrorCodes.UNINTERESTED });
    expectOpen(peer);
  });

  test("understands GOAWAY, and is closed when it stays [GA-10]", async () => {
    const { bed, peer, served, session } = await clientOfBalancer();
    await peer.ask(session.subscribe(live, name));
    const drained = bed.server.drain(2000);
    const { message } = await peer.hear();
    expect(message).toMatchObject({ type: "GOAWAY", newSessionUri: "", timeout: 2000n });
    // In draft 18 it also tells which requests were not looked at: all that come after this one.
    expect(message).toHaveProperty("requestId", 2n);
    expect(session.state).toBe(SessionState.DRAINING);
    expect(peer.closes).toEqual([]);
    bed.clock.advance(2000);
    await drained;
    expect(await served).toMatchObject({ by: "local", app: true });
  });
});

/** Our client that has exchanged SETUP with a server of @moqt/transport. */
async function serverForOurClient(onGoaway?: (goaway: SessionGoaway) => void) {
  const [near, far] = memoryTransportPair({ protocol: "moqt-18" });
  const peer = new MoqtTransportPeer(far, "server");
  const client = new MoqtSession(near, {
    role: "client",
    setupOptions: [
      { type: "PATH", value: "/moq" },
      { type: "AUTHORITY", value: "relay.example" },
    ],
    ...(onGoaway && { onGoaway }),
  });
  void client.run();
  await peer.hear();
  await peer.setup({ implementation: "@moqt/transport" });
  expect((await client.setup)?.implementation).toBe("@moqt/transport");
  return { client, peer, session: peer.session };
}

const track = { trackNamespace: live, trackName: name, parameters: [] } as const;

describe("@moqt/transport as server of our client, draft 18", () => {
  test("accepts a SUBSCRIBE and ends it with PUBLISH_DONE", async () => {
    const { client, peer, session } = await serverForOurClient();
    const request = client.request({ type: "SUBSCRIBE", ...track });
    const { requestId, message } = await peer.hear();
    expect(message).toMatchObject({ type: "SUBSCRIBE", requestId: 0n, trackNamespace: live });
    await peer.perform(session.acceptSubscribe(requestId as bigint, 9n));
    expect(await request.answer).toMatchObject({ type: "SUBSCRIBE_OK", trackAlias: 9n });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    request.onMessage = resolve;
    const trackEnded = 0x2n as Parameters<typeof session.publishDone>[1];
    await peer.perform(session.publishDone(requestId as bigint, trackEnded, "over"));
    expect(await promise).toMatchObject({ type: "PUBLISH_DONE", statusCode: 2n });
  });

  test("refuses a SUBSCRIBE, and the session lives", async () => {
    const { client, peer, session } = await serverForOurClient();
    const request = client.request({ type: "SUBSCRIBE", ...track });
    const { requestId } = await peer.hear();
    await peer.perform(session.rejectSubscribe(requestId as bigint, 0x10n, "none"));
    expect(await request.answer).toMatchObject({ type: "REQUEST_ERROR", errorCode: 0x10n });
    expect(await request.ended).toEqual({ how: "finished" });
    expectOpen(peer);
  });

  test("accepts FETCH, TRACK_STATUS and SUBSCRIBE_NAMESPACE with its NAMESPACE", async () => {
    const { client, peer, session } = await serverForOurClient();
    const range = {
      fetchType: "STANDALONE",
      startLocation: { group: 1n, object: 0n },
      endLocation: { group: 3n, object: 0n },
    } as const;
    const fetch = client.request({ type: "FETCH", ...track, ...range });
    const fetched = (await peer.hear()).requestId as bigint;
    const endLocation = { group: 3n, object: 0n };
    await peer.perform(session.acceptFetch(fetched, { endOfTrack: 1, endLocation }));
    expect(await fetch.answer).toMatchObject({ type: "FETCH_OK", endOfTrack: true, endLocation });

    const status = client.request({ type: "TRACK_STATUS", ...track });
    await peer.perform(session.acceptTrackStatus((await peer.hear()).requestId as bigint));
    expect((await status.answer).type).toBe("REQUEST_OK");

    const request = { type: "SUBSCRIBE_NAMESPACE", trackNamespacePrefix: live } as const;
    const namespaces = client.request({ ...request, parameters: [] });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    namespaces.onMessage = resolve;
    const asked = (await peer.hear()).requestId as bigint;
    await peer.perform(session.acceptSubscribeNamespace(asked));
    expect((await namespaces.answer).type).toBe("REQUEST_OK");
    await peer.perform(session.sendNamespace(asked, [utf8("a")]), asked);
    expect(await promise).toEqual({ type: "NAMESPACE", trackNamespaceSuffix: [utf8("a")] });
    expectOpen(peer);
  });

  test("accepts a PUBLISH of ours", async () => {
    const { client, peer, session } = await serverForOurClient();
    const trackProperties = new Uint8Array(0);
    const publish = { type: "PUBLISH", trackAlias: 4n, trackProperties } as const;
    const request = client.request({ ...publish, ...track });
    const { requestId } = await peer.hear();
    await peer.perform(session.acceptSubscribe(requestId as bigint, 4n));
    expect((await request.answer).type).toBe("REQUEST_OK");
    expectOpen(peer);
  });

  test("takes our GOAWAY as the begin of the end", async () => {
    const { client, peer, session } = await serverForOurClient();
    client.goaway({});
    expect((await peer.hear()).message).toMatchObject({ type: "GOAWAY", newSessionUri: "" });
    expect(session.state).toBe(SessionState.DRAINING);
    expect(peer.closes).toEqual([]);
  });
});

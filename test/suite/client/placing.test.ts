/** What a client makes of the answers of a service. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { ClientError, RequestRefused } from "../../../src/client/errors.ts";
import type { Client } from "../../../src/client/mod.ts";
import { drafts, formatName, sessionErrorCodes } from "../../../src/moqt/mod.ts";
import { pass, settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";
import { hex } from "../moqt/support.ts";
import { vector } from "../moqt/vectors.ts";
import { Internet } from "./internet.ts";
import { error, grant, redirect, ScriptedService } from "./scripted.ts";
import { namespace, story, track } from "./tracks.ts";

const lb = "moqt://lb.example/moqt";
const r1 = "moqt://r1.example/moq";
const game = track("live/sports/game-7", "audio");

/** A balancer that answers with `answers` one after another, and a relay that grants everything. */
function scripted(...answers: ConstructorParameters<typeof ScriptedService>[0][]) {
  const net = new Internet();
  const service = new ScriptedService((request, count, session) =>
    (answers[Math.min(count, answers.length - 1)] ?? grant)(request, count, session),
  );
  const relay = new ScriptedService(grant);
  net.listen(lb, service.serve);
  net.listen(r1, relay.serve);
  return { net, service, relay };
}

const hasCode = (code: ClientError["code"]) => (thrown: unknown) =>
  thrown instanceof ClientError && thrown.code === code;

describe("a redirect", () => {
  for (const draft of drafts) {
    test(`is followed with Retry Interval 0, once, and not remembered, in draft ${draft} [RD-05, LB-REDIR-8, LB-REDIR-10]`, async () => {
      const { net, service, relay } = scripted((request) => request.refuse(redirect(r1, request)));
      const { client, events } = net.client(lb, { draft });
      (await client.subscribe(game)).cancel();
      await settle();
      (await client.subscribe(game)).cancel();
      assert.equal(service.requests.length, 2);
      assert.equal(relay.requests.length, 2);
      assert.ok(!story(events).some((line) => line.startsWith("retrying")));
      await client.close();
    });
  }

  test("keeps what is asked for, parameters and all [LB-REDIR-5]", async () => {
    const { net, service, relay } = scripted((request) => request.refuse(redirect(r1, request)));
    const { client } = net.client(lb, { token: "secret" });
    await client.subscribe({ ...game, priority: 7, rendezvousTimeout: 300 });
    const [asked, placed] = [service.requests[0]?.message, relay.requests[0]?.message];
    assert.deepEqual(placed, { ...asked, requestId: 0n });
    assert.equal(placed?.parameters.length, 3);
    assert.equal(new TextDecoder().decode(relay.requests[0]?.tokens[0]?.tokenValue), "secret");
    await client.close();
  });

  test("to the same session and another name is followed there [RD-08]", async () => {
    const { net, service } = scripted(
      (request) => request.refuse(redirect("", request, { track: "replacement" })),
      grant,
    );
    const { client, events } = net.client(lb);
    await client.subscribe(game);
    assert.equal(service.sessions.length, 1);
    const { message } = service.requests[1] ?? {};
    assert.ok(message?.type === "SUBSCRIBE");
    assert.equal(
      formatName(message.trackNamespace, message.trackName),
      "live-sports-game.2d7--replacement",
    );
    assert.deepEqual(
      events.flatMap((event) => (event.type === "redirected" ? [event.hops] : [])),
      [1],
    );
    await client.close();
  });

  test("between two balancers that name each other ends as a loop [RD-10, LB-SEC-25]", async () => {
    const { net, service } = scripted((request) =>
      request.refuse(redirect("moqt://other.example", request)),
    );
    const other = new ScriptedService((request) =>
      request.refuse(redirect("moqt://LB.example:443/moqt", request)),
    );
    net.listen("moqt://other.example", other.serve);
    const { client } = net.client(lb);
    await assert.rejects(client.subscribe(game), hasCode("REDIRECT_LOOP"));
    assert.deepEqual([service.requests.length, other.requests.length], [1, 1]);
    await client.close();
  });

  test("to ever new names is followed up to the limit [RD-10, LB-REDIR-19]", async () => {
    const { net, service } = scripted((request, count) =>
      request.refuse(redirect("", request, { track: `name ${count}` })),
    );
    const { client } = net.client(lb, { maximumHops: 4 });
    await assert.rejects(client.subscribe(game), hasCode("TOO_MANY_REDIRECTS"));
    assert.equal(service.requests.length, 5);
    await client.close();
  });

  test("follows up to six by default [LB-REDIR-19]", async () => {
    const { net, service } = scripted((request, count) =>
      request.refuse(redirect("", request, { track: `name ${count}` })),
    );
    const { client } = net.client(lb);
    await assert.rejects(client.subscribe(game), hasCode("TOO_MANY_REDIRECTS"));
    assert.equal(service.requests.length, 7);
    await client.close();
  });

  test("of a namespace request with a Track Name closes the session [RD-02]", async () => {
    // REQUEST_ERROR REDIRECT to (live) and x, which no server of ours would send.
    const bytes = hex(vector("rd-ns-bad"));
    const prefix = namespace("live");
    for (const ask of [
      (client: Client) => client.subscribeNamespace({ prefix }),
      (client: Client) => client.subscribeTracks({ prefix }),
      (client: Client) => client.publishNamespace({ trackNamespace: prefix }),
    ]) {
      const { net, service } = scripted((request) => request.refuse(bytes));
      const { client } = net.client(lb, { maximumAttempts: 1 });
      await assert.rejects(ask(client), hasCode("REQUEST_FAILED"));
      const close = await service.sessions[0]?.closed;
      assert.deepEqual([close?.by, close?.code], ["remote", sessionErrorCodes.PROTOCOL_VIOLATION]);
      await client.close();
    }
  });

  test("that names no URI is an error, and costs no session", async () => {
    const { net } = scripted((request) => request.refuse(redirect("http://r1.example", request)));
    const { client } = net.client(lb);
    await assert.rejects(client.subscribe(game), hasCode("INVALID_REDIRECT"));
    assert.equal(net.connections.length, 1);
    await client.close();
  });
});

describe("a refusal", () => {
  test("with Retry Interval 0 is the last word [RD-06]", async () => {
    const { net, service } = scripted((request) => request.refuse(error("DOES_NOT_EXIST")));
    const { client } = net.client(lb);
    const refused = await client.subscribe(game).catch((thrown) => thrown);
    assert.ok(refused instanceof RequestRefused);
    assert.equal(refused.errorName, "DOES_NOT_EXIST");
    assert.equal(refused.target.uri, lb);
    assert.equal(refused.message, "SUBSCRIBE was refused with DOES_NOT_EXIST (0x10)");
    assert.equal(service.requests.length, 1);
    await client.close();
  });

  test("with Retry Interval 1 is asked again at once [RD-06]", async () => {
    const { net, service } = scripted(
      (request) => request.refuse(error("INTERNAL_ERROR", 1n)),
      grant,
    );
    const { client } = net.client(lb);
    await client.subscribe(game);
    assert.equal(service.requests.length, 2);
    assert.equal(net.clock.now(), 0);
    await client.close();
  });

  test("with Retry Interval n is asked again no sooner than n-1 ms later, spread out [RD-06]", async () => {
    const { net, service } = scripted(
      (request) => request.refuse(error("INTERNAL_ERROR", 5001n)),
      grant,
    );
    const { client, events } = net.client(lb);
    const subscribing = client.subscribe(game);
    await pass(net.clock, 6240);
    assert.equal(service.requests.length, 1);
    await pass(net.clock, 10);
    await subscribing;
    assert.ok(story(events).includes(`retrying at ${lb} after 6250 ms: INTERNAL_ERROR`));
    await client.close();
  });

  test("with a Retry Interval that nobody would wait for is the last word", async () => {
    const { net } = scripted((request) => request.refuse(error("INTERNAL_ERROR", 60_000n)));
    const { client } = net.client(lb, { longestRetry: 30_000 });
    const refused = await client.subscribe(game).catch((thrown) => thrown);
    assert.ok(refused instanceof RequestRefused && refused.retryInterval === 60_000n);
    await client.close();
  });

  test("of a relay leads back to the balancer, under the table of that moment [LB-REDIR-10]", async () => {
    const { net, service, relay } = scripted(
      (request) => request.refuse(redirect("moqt://busy.example", request)),
      (request) => request.refuse(redirect(r1, request)),
    );
    const busy = new ScriptedService((request) => request.refuse(error("EXCESSIVE_LOAD", 1n)));
    net.listen("moqt://busy.example", busy.serve);
    const { client } = net.client(lb);
    await client.subscribe(game);
    assert.deepEqual(
      [service.requests.length, busy.requests.length, relay.requests.length],
      [2, 1, 1],
    );
    await client.close();
  });

  test("again and again is given up", async () => {
    const { net, service } = scripted((request) => request.refuse(error("INTERNAL_ERROR", 1n)));
    const { client } = net.client(lb, { maximumAttempts: 5 });
    await assert.rejects(client.subscribe(game), hasCode("REQUEST_REFUSED"));
    assert.equal(service.requests.length, 5);
    await client.close();
  });

  test("because somebody goes away is asked again although it must not be retried as it is", async () => {
    const { net, service } = scripted((request) => request.refuse(error("GOING_AWAY")), grant);
    const { client } = net.client(lb);
    const subscribing = client.subscribe(game);
    await pass(net.clock, 250);
    await subscribing;
    assert.equal(service.requests.length, 2);
    await client.close();
  });

  test("with a code that nobody knows counts as INTERNAL_ERROR, and costs no session [RQ-12]", async () => {
    const { net, service } = scripted((request) =>
      request.refuse({ ...error("INTERNAL_ERROR"), errorCode: 0x7777n }),
    );
    const { client } = net.client(lb);
    const refused = await client.subscribe(game).catch((thrown) => thrown);
    assert.ok(refused instanceof RequestRefused);
    assert.deepEqual([refused.errorName, refused.errorCode], ["INTERNAL_ERROR", 0x7777n]);
    assert.equal(service.sessions[0]?.isOver, false);
    await client.close();
  });
});

describe("a request without an answer", () => {
  test("is given up after its time, and made again", async () => {
    const { net, service } = scripted(() => {}, grant);
    const { client } = net.client(lb, { answerTime: 3000 });
    const subscribing = client.subscribe(game);
    await pass(net.clock, 3250);
    await subscribing;
    assert.equal(service.requests[0]?.isOver, true);
    assert.equal(service.sessions.length, 1);
    await client.close();
  });

  test("is waited for as long as it asked the relay to wait for its track", async () => {
    const { net, service } = scripted(async (request) => {
      net.clock.after(20_000, () => grant(request));
    });
    const { client } = net.client(lb, { answerTime: 3000 });
    const subscribing = client.subscribe({ ...game, rendezvousTimeout: 20_000 });
    await pass(net.clock, 20_000, 1000);
    await subscribing;
    assert.equal(service.requests.length, 1);
    await client.close();
  });

  test("is made again where it is broken off", async () => {
    const { net, service } = scripted((request) => request.cancel("INTERNAL_ERROR"), grant);
    const { client } = net.client(lb);
    const subscribing = client.subscribe(game);
    await pass(net.clock, 250);
    await subscribing;
    assert.equal(service.requests.length, 2);
    await client.close();
  });

  test("is made where GOAWAY on its stream says", async () => {
    const { net, relay } = scripted((request) => request.goaway({ newSessionUri: r1 }));
    const { client } = net.client(lb);
    const subscribing = client.subscribe(game);
    await pass(net.clock, 250);
    await subscribing;
    assert.equal(relay.requests.length, 1);
    await client.close();
  });

  test("ends with the signal of its caller, and is cancelled", async () => {
    const { net, service } = scripted(() => {});
    const { client } = net.client(lb);
    const giving = new AbortController();
    const subscribing = client.subscribe({ ...game, signal: giving.signal });
    await settle();
    giving.abort(new Error("enough"));
    await assert.rejects(subscribing, /enough/);
    await settle();
    assert.equal(service.requests[0]?.isOver, true);
    await client.close();
  });

  test("ends when the client is closed", async () => {
    const { net } = scripted(() => {});
    const { client } = net.client(lb);
    const subscribing = client.subscribe(game);
    subscribing.catch(() => {});
    await settle();
    await client.close();
    await assert.rejects(subscribing, hasCode("CLOSED"));
    await assert.rejects(client.subscribe(game), hasCode("CLOSED"));
  });
});

describe("a service", () => {
  test("that was never reached is not tried again", async () => {
    const net = new Internet();
    const { client, events } = net.client(lb);
    await assert.rejects(client.subscribe(game), hasCode("CONNECT_FAILED"));
    assert.deepEqual(story(events), [`connecting ${lb}`, `unreachable ${lb}`]);
    await client.close();
  });

  test("that will not have this client is not tried again, and the reason is told [SU-05]", async () => {
    for (const code of ["INVALID_PATH", "UNAUTHORIZED"] as const) {
      const { net, service } = scripted((_request, _count, session) => session.close(code, "no"));
      const { client } = net.client(lb);
      const failed = await client.subscribe(game).catch((thrown) => thrown);
      assert.ok(hasCode("CONNECT_FAILED")(failed));
      assert.match(failed.message, new RegExp(code));
      assert.equal(service.sessions.length, 1);
      await client.close();
    }
  });

  test("that names another place when it goes is asked there, for as long as somebody is there", async () => {
    const { net, service } = scripted(grant);
    const next = new ScriptedService(grant);
    net.listen("moqt://next.example/moqt", next.serve);
    const { client } = net.client(lb);
    await client.publish(game);
    service.sessions[0]?.goaway({ newSessionUri: "moqt://next.example/moqt" });
    await settle();
    assert.deepEqual([service.requests.length, next.requests.length], [1, 1]);
    await client.subscribe(game);
    assert.equal(next.requests.length, 2);
    net.unplug("moqt://next.example/moqt");
    next.sessions[0]?.close();
    await pass(net.clock, 2000, 50);
    assert.deepEqual(
      service.requests
        .slice(1)
        .map(({ message }) => message.type)
        .sort(),
      ["PUBLISH", "SUBSCRIBE"],
    );
    await client.close();
  });

  test("that sends garbage costs a request its answer, and nothing else", async () => {
    const stream = fc.record({
      kind: fc.constantFrom("uni", "bidi"),
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        // A SETUP, and whatever follows.
        fc.uint8Array({ maxLength: 20 }).map((rest) => concatBytes(hex("af000000"), rest)),
      ),
      fin: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(stream, { minLength: 1, maxLength: 4 }), async (streams) => {
        const net = new Internet();
        net.listen(lb, async (transport) => {
          for (const { kind, bytes, fin } of streams) {
            const opening = kind === "uni" ? transport.openUni() : transport.openBidi();
            await opening.then((each) => each.write(bytes, fin)).catch(() => {});
          }
        });
        const { client } = net.client(lb, { maximumAttempts: 2, answerTime: 500 });
        const subscribing = client.subscribe(game).catch((thrown) => thrown);
        await pass(net.clock, 2000, 250);
        assert.ok((await subscribing) instanceof ClientError);
        await client.close();
      }),
      { numRuns: 40 },
    );
  });

  test("that speaks something else is not spoken to", async () => {
    const net = new Internet();
    const [ours, theirs] = memoryTransportPair({ protocol: "h3" });
    const { client } = net.client(lb, { dial: async () => ours });
    const failed = await client.subscribe(game).catch((thrown) => thrown);
    assert.ok(hasCode("CONNECT_FAILED")(failed));
    assert.equal((await theirs.closed).code, sessionErrorCodes.PROTOCOL_VIOLATION);
    await client.close();
  });

  test("keeps its session open, relays only while they are needed [LB-REDIR-9]", async () => {
    const { net, service, relay } = scripted((request) => request.refuse(redirect(r1, request)));
    const { client } = net.client(lb, { relayIdleTime: 5000 });
    const subscription = await client.subscribe(game);
    await pass(net.clock, 6000, 500);
    assert.equal(relay.sessions[0]?.isOver, false);
    subscription.cancel();
    await pass(net.clock, 4500, 500);
    (await client.subscribe(game)).cancel();
    await pass(net.clock, 4500, 500);
    assert.equal(relay.sessions[0]?.isOver, false);
    await pass(net.clock, 600, 100);
    const close = await relay.sessions[0]?.closed;
    assert.deepEqual([close?.by, close?.code], ["remote", 0n]);
    assert.equal(service.sessions[0]?.isOver, false);
    await client.subscribe(game);
    assert.deepEqual([service.sessions.length, relay.sessions.length], [1, 2]);
    await client.close();
  });

  test("learns path, query and authority of its URI on raw QUIC, and nothing of them elsewhere [SU-04]", async () => {
    const uri = "moqt://lb.example:4443/moq?x=1";
    for (const kind of ["quic", "webtransport-h3", "qmux"] as const) {
      const net = new Internet(kind);
      const service = new ScriptedService(grant);
      net.listen(uri, service.serve);
      const { client } = net.client(uri);
      await client.subscribe(game);
      const setup = await service.sessions[0]?.setup;
      const expected = kind === "quic" ? ["/moq?x=1", "lb.example:4443"] : [undefined, undefined];
      assert.deepEqual([setup?.path, setup?.authority], expected);
      await client.close();
    }
  });

  test("gets a request with an URI that has no path [SU-04]", async () => {
    const net = new Internet();
    const service = new ScriptedService(grant);
    net.listen("moqt://lb.example", service.serve);
    const { client } = net.client("moqt://LB.Example:443");
    await client.subscribe(game);
    const setup = await service.sessions[0]?.setup;
    assert.deepEqual([setup?.path, setup?.authority], ["/", "lb.example"]);
    await client.close();
  });
});

test("options that cannot be are refused", () => {
  const net = new Internet();
  for (const options of [{ maximumHops: -1 }, { maximumAttempts: 0 }, { answerTime: Number.NaN }]) {
    assert.throws(() => net.client(lb, options), hasCode("INVALID_OPTION"));
  }
  assert.throws(() => net.client("http://lb.example"), hasCode("INVALID_OPTION"));
});

test("the same track cannot be subscribed to, or published, twice at a time", async () => {
  const { net } = scripted(grant);
  const { client } = net.client(lb);
  const first = await client.subscribe(game);
  await assert.rejects(client.subscribe(game), hasCode("ALREADY_SUBSCRIBED"));
  first.cancel();
  await first.ended;
  await client.subscribe(game);
  const publication = await client.publish(game);
  await assert.rejects(client.publish(game), hasCode("ALREADY_PUBLISHED"));
  await publication.end();
  await client.publish(game);
  await client.close();
});

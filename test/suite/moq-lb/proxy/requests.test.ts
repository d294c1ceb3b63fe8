import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import {
  type ControlMessage,
  type Draft,
  drafts,
  encodeControlMessage,
  type MessageOf,
  type RequestType,
  requestErrorCodes,
  requestTypes,
  streamResetCodes,
} from "../../../../src/moqt/mod.ts";
import { grantOf, nothing, ProxyBed, requestFor, requestOk, ridOf, settle } from "./bed.ts";

/** A request of the client, and the same one as the relay has it. */
async function carried(bed: ProxyBed, type: RequestType, draft: Draft = 22, grants = true) {
  const asked = await bed.client.ask(requestFor(type, "live-v", draft));
  const served = bed.relay().only(type);
  if (grants) served.send(grantOf(type));
  await settle();
  const [mapping] = bed.proxied.mappings;
  return { asked, served, mapping };
}

type SubscribeOk = MessageOf<"SUBSCRIBE_OK">;

const lasting = requestTypes.filter((type) => type !== "TRACK_STATUS");

describe("requests of the client", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: seven types, seven mappings, one stream on either leg for each [LB-PMAP-2] [LB-PMAP-3]`, async () => {
      const bed = new ProxyBed({ draft });
      for (const type of requestTypes) await bed.client.ask(requestFor(type, "live-v", draft));
      const relay = bed.relay();
      assert.deepEqual(
        [...bed.proxied.mappings].map(({ type, opener }) => [type, opener]),
        requestTypes.map((type) => [type, "client"]),
      );
      // All seven are there, once each, numbered on their own leg from 0 on.
      assert.deepEqual(
        relay.requests.map(({ message }) => [message.type, message.requestId]),
        requestTypes.map((type, index) => [type, 2n * BigInt(index)]),
      );
      assert.equal(bed.dialled.length, 1);
      assert.deepEqual(bed.faults, []);
    });

    test(`draft ${draft}: arrive as they were made, but for Request ID and Track Alias [LB-PDATA-2]`, async () => {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("TRACK_STATUS", "vod-v", draft));
      for (const type of requestTypes) {
        const details = requestFor(type, "live-v", draft);
        await bed.client.ask(details);
        const { requestId, ...message } = bed.relay().only(type).message;
        const { requestId: _, ...given } = { requestId: 0n, ...details };
        if (message.type === "PUBLISH" && given.type === "PUBLISH") {
          assert.deepEqual({ ...message, trackAlias: 3n }, given);
        } else assert.deepEqual(message, given);
        assert.equal(requestId % 2n, 0n);
      }
    });
  }

  test("keep what they were placed by, and whose relay has them [LB-PMAP-7] [LB-PMAP-10] [LB-PMAP-11]", async () => {
    const bed = new ProxyBed();
    const { mapping } = await carried(bed, "SUBSCRIBE_NAMESPACE");
    assert.deepEqual(mapping?.key, [utf8("live"), utf8("v")]);
    assert.equal(mapping?.backend.rid, ridOf("r1"));
    assert.equal(await mapping?.forwardedAs, 0n);
  });

  for (const draft of drafts) {
    test(`draft ${draft}: of two clients with the same Request IDs and one relay have their own there, and their own answers [LB-PMAP-12] [PX-01] [LB-S60]`, async () => {
      const bed = new ProxyBed({ draft });
      const clients = [bed.client, bed.another().client];
      const types = ["PUBLISH_NAMESPACE", "TRACK_STATUS", "SUBSCRIBE"] as const;
      const asked = [];
      for (const type of types) {
        for (const client of clients) {
          asked.push(await client.ask(requestFor(type, "live-v", draft)));
        }
      }
      // Request IDs are even, and counted for each session to the relay alone.
      const relays = bed.dialled.map(({ relay }) => relay);
      assert.equal(relays.length, 2);
      for (const { requests } of relays) {
        assert.deepEqual(
          requests.map(({ message }) => [message.type, message.requestId]),
          types.map((type, index) => [type, 2n * BigInt(index)]),
        );
      }
      // Every other one is answered, the last first.
      const [first, second] = relays;
      second?.only("SUBSCRIBE").send({ ...grantOf("SUBSCRIBE"), trackAlias: 7n } as SubscribeOk);
      first?.only("TRACK_STATUS").send(requestOk);
      second?.only("PUBLISH_NAMESPACE").send(requestOk);
      await settle();
      assert.deepEqual(
        asked.map(({ answer }) => answer?.type),
        [undefined, "REQUEST_OK", "REQUEST_OK", undefined, undefined, "SUBSCRIBE_OK"],
      );
      assert.deepEqual(bed.faults, []);
    });

    test(`draft ${draft}: of two clients with the same Track Aliases at one relay get their own objects, each by its own subscription there [LB-PMAP-13] [LB-PDATA-14] [LB-PSHARE-1] [LB-SEC-19] [LB-SEC-29] [PX-02]`, async () => {
      const bed = new ProxyBed({ draft });
      const clients = [bed.client, bed.another().client];
      for (const client of clients) {
        await client.ask(requestFor("SUBSCRIBE", "live-v", draft));
      }
      const relays = bed.dialled.map(({ relay }) => relay);
      for (const [index, relay] of relays.entries()) {
        relay.only("SUBSCRIBE").send({ ...grantOf("SUBSCRIBE"), trackAlias: 7n } as SubscribeOk);
        await settle();
        await relay.send(new Uint8Array([0x10, 7, index, 0, 0, 1, 0xa0 + index]), true);
      }
      for (const [index, { streams, session }] of clients.entries()) {
        assert.equal(streams.length, 1);
        const [stream] = streams;
        assert.ok(stream?.header.type === "SUBGROUP");
        assert.equal(stream.header.groupId, BigInt(index));
        assert.equal((await stream.stream.read())?.at(-1), 0xa0 + index);
        assert.equal(session.isOver, false);
      }
    });
  }

  test("a table for each session, which ends with it [LB-PMAP-1]", async () => {
    const bed = new ProxyBed();
    await carried(bed, "SUBSCRIBE");
    const other = bed.another();
    assert.deepEqual([bed.proxied.mappings.size, other.proxied.mappings.size], [1, 0]);
    const asked = await other.client.ask(requestFor("SUBSCRIBE", "live-v"));
    assert.deepEqual([bed.proxied.mappings.size, other.proxied.mappings.size], [1, 1]);
    const [own, others] = bed.dialled.map(({ relay }) => relay);
    bed.client.session.close();
    await settle();
    assert.deepEqual([bed.proxied.mappings.size, other.proxied.mappings.size], [0, 1]);
    assert.deepEqual([own?.session.isOver, others?.session.isOver], [true, false]);
    others?.only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    assert.equal(asked.answer?.type, "SUBSCRIBE_OK");
  });

  test("are cancelled at the relay with the client's code, known or not [LB-PMAP-7] [LB-S74]", async () => {
    for (const type of lasting) {
      for (const grants of [true, false]) {
        const bed = new ProxyBed();
        const { asked, served } = await carried(bed, type, 22, grants);
        asked.request.cancel(0x77n);
        await settle();
        const end = await served.ended;
        assert.ok(end.how === "cancelled");
        assert.equal(end.code, 0x77n, type);
        assert.equal(bed.proxied.mappings.size, 0, type);
        assert.deepEqual(bed.faults, []);
      }
    }
  });

  test("are cancelled at the client with the relay's code [LB-PMAP-7] [LB-S74]", async () => {
    for (const type of lasting) {
      const bed = new ProxyBed();
      const { asked, served } = await carried(bed, type);
      served.cancel(0x78n);
      await settle();
      assert.ok(asked.end?.how === "cancelled", type);
      assert.equal(asked.end.code, 0x78n, type);
      assert.equal(bed.proxied.mappings.size, 0, type);
    }
  });

  test("are cancelled at the relay with the largest code that stacks send where the client's is larger [LB-S76]", async () => {
    for (const type of lasting) {
      const bed = new ProxyBed();
      await settle();
      const stream = await bed.client.transport.openBidi();
      const asked = { ...requestFor(type, "live-v"), requestId: 0n } as ControlMessage;
      await stream.write(encodeControlMessage(asked, 22));
      await settle();
      const served = bed.relay().only(type);
      served.send(grantOf(type));
      await settle();
      stream.reset(2n ** 60n);
      await settle();
      assert.ok(served.isOver);
      const end = await served.ended;
      assert.equal(end.how === "cancelled" && end.code, 2n ** 53n - 1n, type);
      assert.deepEqual([bed.proxySession.isOver, bed.relay().session.isOver], [false, false]);
      assert.deepEqual(bed.faults, []);
    }
  });

  test("given up while its relay is dialled: nothing reaches the relay", async () => {
    const bed = new ProxyBed();
    const request = bed.client.session.request(requestFor("SUBSCRIBE", "live-v"));
    request.cancel();
    await settle();
    assert.equal(bed.dialled.flatMap(({ relay }) => relay.requests).length, 0);
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("a FIN of the client is passed on, and cancels nothing [LB-PDATA-3] [LB-S74]", async () => {
    const bed = new ProxyBed();
    const { asked, served } = await carried(bed, "SUBSCRIBE_NAMESPACE");
    let finished = 0;
    served.onFinish = () => {
      finished++;
    };
    asked.request.finish();
    await settle();
    assert.equal(finished, 1);
    served.send({ type: "NAMESPACE", trackNamespaceSuffix: [utf8("a")] });
    await settle();
    assert.deepEqual(asked.news, [{ type: "NAMESPACE", trackNamespaceSuffix: [utf8("a")] }]);
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("an update that was sent before the FIN still gets its answer [LB-PDATA-3]", async () => {
    const bed = new ProxyBed();
    const { asked, served } = await carried(bed, "SUBSCRIBE");
    const update = asked.request.update([{ type: "SUBSCRIBER_PRIORITY", value: 1 }]);
    asked.request.finish();
    await settle();
    served.send(requestOk);
    assert.deepEqual(await update, requestOk);
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("draft 18: a FIN withdraws at the relay what it withdraws here", async () => {
    const bed = new ProxyBed({ draft: 18 });
    const { asked, served } = await carried(bed, "PUBLISH_NAMESPACE", 18);
    asked.request.finish();
    await settle();
    const end = await served.ended;
    assert.ok(end.how === "cancelled");
    assert.equal(end.cause, "FIN");
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("are over when the relay ends its side [LB-PMAP-14]", async () => {
    for (const type of ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const) {
      const bed = new ProxyBed();
      const { asked, served } = await carried(bed, type);
      served.finish();
      await settle();
      assert.deepEqual(asked.end, { how: "finished" });
      assert.equal(bed.proxied.mappings.size, 0);
    }
  });

  test("what the relay lost has begun ends with GOING_AWAY [LB-DISPL-15]", async () => {
    const bed = new ProxyBed();
    const { asked } = await carried(bed, "FETCH", 22, false);
    bed.relay().session.close("INTERNAL_ERROR");
    await settle();
    assert.equal(asked.error, requestErrorCodes.GOING_AWAY);
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("a FETCH that was accepted is reset with its stream when its relay is lost [LB-PMOVE-14]", async () => {
    const bed = new ProxyBed();
    const { asked } = await carried(bed, "FETCH");
    await bed.relay().send(new Uint8Array([0x05, 0]));
    bed.relay().session.close("INTERNAL_ERROR");
    await settle();
    assert.ok(asked.end?.how === "cancelled");
    assert.equal(asked.end.code, streamResetCodes.GOING_AWAY);
    const [received] = bed.client.streams;
    await assert.rejects(async () => {
      while ((await received?.stream.read()) !== null);
    });
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("a relay that breaks the protocol costs its own session only [LB-S76]", async () => {
    const bed = new ProxyBed();
    await carried(bed, "SUBSCRIBE");
    const elsewhere = await bed.client.ask(requestFor("TRACK_STATUS", "vod-v"));
    const asked = await bed.client.ask(requestFor("FETCH", "live-v"));
    // A message that does not belong on the stream of a FETCH, past the checks of the relay's end.
    bed
      .relay()
      .only("FETCH")
      .refuse(new Uint8Array([0x08, 0, 1, 0]));
    await settle();
    assert.equal(bed.relay().session.isOver, true);
    assert.equal(asked.error, requestErrorCodes.GOING_AWAY);
    assert.equal(bed.proxySession.isOver, false);
    bed.relay("r2").only("TRACK_STATUS").send(requestOk);
    await settle();
    assert.equal(elsewhere.answer?.type, "REQUEST_OK");
  });

  test("the relay's REDIRECT is not for the client [LB-A7] [LB-S75] [LB-S125]", async () => {
    for (const type of requestTypes) {
      const bed = new ProxyBed();
      const { asked, served } = await carried(bed, type, 22, false);
      served.refuse({
        type: "REQUEST_ERROR",
        errorCode: requestErrorCodes.REDIRECT,
        retryInterval: 0n,
        errorReason: "https://r9.example",
        redirect: {
          connectUri: "https://r9.example/",
          trackNamespace: [utf8("live")],
          trackName: nothing,
        },
      });
      await settle();
      assert.deepEqual(asked.answer, {
        type: "REQUEST_ERROR",
        errorCode: requestErrorCodes.INTERNAL_ERROR,
        retryInterval: 1001n,
        errorReason: "",
      });
      assert.deepEqual(bed.redirects, [ridOf("r1")]);
      assert.equal(bed.proxied.mappings.size, 0);
    }
  });

  test("a relay that cannot be reached is not named [LB-S125] [LB-A9]", async () => {
    const routes = [
      [{ prefix: ["live"], kind: "static", rid: "r1" }],
      [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r2", "r3"] }],
    ];
    for (const type of requestTypes) {
      for (const [index, route] of routes.entries()) {
        for (const reissues of [true, false]) {
          const bed = new ProxyBed({ routes: route, proxy: { reissues } });
          bed.onRelay = () => {
            throw new Error("no route to https://r1.example/moq");
          };
          const asked = await bed.client.ask(requestFor(type, "live-v"));
          assert.deepEqual(
            asked.answer,
            {
              type: "REQUEST_ERROR",
              errorCode: requestErrorCodes.INTERNAL_ERROR,
              retryInterval: 1001n,
              errorReason: "",
            },
            `${type} ${index} ${reissues}`,
          );
          assert.equal(bed.proxied.mappings.size, 0);
          assert.deepEqual(bed.faults, []);
        }
      }
    }
  });
});

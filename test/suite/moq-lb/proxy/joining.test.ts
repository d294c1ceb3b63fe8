import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import {
  type Draft,
  type JoiningFetch,
  type MessageParameter,
  type NewRequest,
  requestErrorCodes,
} from "../../../../src/moqt/mod.ts";
import { type Asked, nothing, ProxyBed, requestFor, requestOk, settle } from "./bed.ts";
import { fetched, subgroup } from "./data/units.ts";

const liveAt = (rid: string) => [{ prefix: ["live"], kind: "static", rid }];
const largest = (group: bigint, object: bigint): MessageParameter => ({
  type: "LARGEST_OBJECT",
  location: { group, object },
});
const subscribeOk = (trackAlias: bigint, parameters: readonly MessageParameter[] = []) =>
  ({ type: "SUBSCRIBE_OK", trackAlias, parameters, trackProperties: nothing }) as const;
const joining = (
  fetchType: JoiningFetch["fetchType"],
  { request }: Asked,
  joiningStart: bigint,
): NewRequest =>
  ({
    type: "FETCH",
    fetchType,
    joiningRequestId: request.message.requestId,
    joiningStart,
    parameters: [{ type: "SUBSCRIBER_PRIORITY", value: 3 }],
  }) as Omit<JoiningFetch, "requestId">;

/** A subscription that r1 has granted and that has moved to r2, which has come to group 7. */
async function moved(
  draft: Draft,
  granted: readonly MessageParameter[],
  asked: readonly MessageParameter[] = [],
) {
  const bed = new ProxyBed({ draft, routes: liveAt("r1"), proxy: { reissues: true } });
  const request = { ...requestFor("SUBSCRIBE", "live--v", draft), parameters: asked };
  const subscription = await bed.client.ask(request as NewRequest);
  const first = bed.relay("r1");
  first.only("SUBSCRIBE").send(subscribeOk(5n, granted));
  await settle();
  await first.send(subgroup(5, 4), true);
  bed.onRelay = (relay) => {
    relay.onRequest = (incoming) => {
      if (incoming.message.type === "SUBSCRIBE") incoming.send(subscribeOk(9n, [largest(7n, 2n)]));
    };
  };
  bed.rotate(liveAt("r2"));
  await bed.pass(2000);
  assert.equal(bed.relay("r2").of("SUBSCRIBE").length, 1);
  return { bed, subscription, relay: bed.relay("r2") };
}

describe("a joining FETCH of a subscription that has moved", () => {
  for (const draft of [18, 19] as readonly Draft[]) {
    test(`draft ${draft}: asks for what its client means, up to the Joining Location that it was told [LB-S2]`, async () => {
      const cases = [
        ["RELATIVE_JOINING", 0n, 4n],
        ["RELATIVE_JOINING", 1n, 3n],
        ["RELATIVE_JOINING", 9n, 0n],
        ["ABSOLUTE_JOINING", 2n, 2n],
        ["ABSOLUTE_JOINING", 4n, 4n],
      ] as const;
      for (const [fetchType, start, group] of cases) {
        const { bed, subscription, relay } = await moved(draft, [largest(4n, 1n)]);
        const asked = await bed.client.ask(joining(fetchType, subscription, start));
        const { requestId, ...message } = relay.only("FETCH").message;
        assert.deepEqual(message, {
          type: "FETCH",
          fetchType: "STANDALONE",
          trackNamespace: [utf8("live")],
          trackName: utf8("v"),
          startLocation: { group, object: 0n },
          endLocation: { group: 4n, object: 2n },
          parameters: [{ type: "SUBSCRIBER_PRIORITY", value: 3 }],
        });
        relay.only("FETCH").send({
          type: "FETCH_OK",
          endOfTrack: false,
          endLocation: { group: 4n, object: 2n },
          parameters: [],
          trackProperties: nothing,
        });
        await relay.send(fetched(Number(requestId)), true);
        assert.equal(asked.answer?.type, "FETCH_OK");
        assert.deepEqual(bed.client.streams.at(-1)?.header, {
          type: "FETCH",
          requestId: asked.request.message.requestId,
        });
        assert.deepEqual(bed.faults, []);
      }
    });

    test(`draft ${draft}: is INVALID_RANGE where that is no range [LB-S2]`, async () => {
      const cases = [
        [[], [], "RELATIVE_JOINING", 1n],
        [[largest(4n, 1n)], [], "ABSOLUTE_JOINING", 5n],
        [[largest(4n, 1n)], [{ type: "FORWARD", value: 0 }], "RELATIVE_JOINING", 1n],
      ] as const;
      for (const [granted, parameters, fetchType, start] of cases) {
        const { bed, subscription, relay } = await moved(draft, granted, parameters);
        const asked = await bed.client.ask(joining(fetchType, subscription, start));
        assert.equal(asked.error, requestErrorCodes.INVALID_RANGE);
        assert.deepEqual(relay.of("FETCH"), []);
      }
    });

    test(`draft ${draft}: joins at its new relay where that one has told the client its Joining Location, or is about to [LB-S2] [LB-A1]`, async () => {
      for (const answers of ["before", "after"]) {
        const paused = [{ type: "FORWARD", value: 0 }] as const;
        const { bed, subscription, relay } = await moved(draft, [largest(4n, 1n)], paused);
        const serving = relay.only("SUBSCRIBE");
        const answer = { ...requestOk, parameters: [largest(8n, 0n)] };
        if (answers === "before") serving.onMessage = () => serving.send(answer);
        void subscription.request.update([{ type: "FORWARD", value: 1 }]);
        await settle();
        await bed.client.ask(joining("RELATIVE_JOINING", subscription, 1n));
        const { message } = relay.only("FETCH");
        assert.ok("joiningRequestId" in message, answers);
        assert.equal(message.joiningRequestId, serving.message.requestId);
        assert.equal(message.joiningStart, 1n);
      }
    });
  }
});

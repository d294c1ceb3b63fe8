/** Displacement, GOAWAY and loss as clients and relays see them, with all of a proxied session. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../../../src/bytes.ts";
import {
  encodeDataStreamHeader,
  formatName,
  publishDoneCodes,
  type RequestType,
  type RoutableRequest,
  requestErrorCodes,
  routingKey,
  streamResetCodes,
} from "../../../../../src/moqt/mod.ts";
import { StreamReset } from "../../../../../src/quic/errors.ts";
import { placeRequest } from "../../../../../src/routing/mod.ts";
import type { TransportStream } from "../../../../../src/transport/transport.ts";
import { activate, now } from "../../../routing/fixtures.ts";
import {
  type Asked,
  grantOf,
  type Peer,
  ProxyBed,
  type ProxyBedOptions,
  requestFor,
  ridOf,
  settle,
  snapshot,
} from "../bed.ts";

const hashed = [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r2", "r3"] }];
const pinned = (rid: string) => [{ prefix: ["live"], kind: "static", rid }];
const nowhere = [{ prefix: ["vod"], kind: "static", rid: "r2" }];

/** A namespace in text form that the hashed route places on `rid`, and beside it one that is not. */
function namesOn(rid: string): { readonly on: string; readonly off: string } {
  const active = activate(snapshot(1, hashed));
  const find = (wanted: boolean) => {
    for (let index = 0; ; index++) {
      const name = `live-n${index}`;
      const request = requestFor("PUBLISH_NAMESPACE", name) as RoutableRequest;
      const placement = placeRequest(request, active, now);
      assert.equal(placement.kind, "redirect");
      if ((toHex((placement as { rid: Uint8Array }).rid) === ridOf(rid)) === wanted) return name;
    }
  };
  return { on: find(true), off: find(false) };
}

const granted: readonly RequestType[] = [
  "SUBSCRIBE",
  "PUBLISH",
  "PUBLISH_NAMESPACE",
  "SUBSCRIBE_NAMESPACE",
  "SUBSCRIBE_TRACKS",
];

/**
 * A bed whose relays grant everything; each gives the lowest Track Alias that is free there, from 5
 * on.
 */
function bedThatGrants(options: ProxyBedOptions = {}): ProxyBed {
  const bed = new ProxyBed({ routes: hashed, ...options });
  bed.onRelay = (relay) => {
    const aliases = new Set<bigint>();
    relay.onRequest = (request) => {
      const grant = grantOf(request.message.type);
      if (grant.type !== "SUBSCRIBE_OK") {
        request.send(grant);
        return;
      }
      let trackAlias = 5n;
      while (aliases.has(trackAlias)) trackAlias++;
      aliases.add(trackAlias);
      void request.ended.then(() => aliases.delete(trackAlias));
      request.send({ ...grant, trackAlias });
    };
  };
  return bed;
}

/** A request of each of `types`, granted. */
async function askAll(
  bed: ProxyBed,
  name: string,
  types = granted,
): Promise<ReadonlyMap<RequestType, Asked>> {
  const asked = new Map<RequestType, Asked>();
  for (const type of types) asked.set(type, await bed.client.ask(requestFor(type, name)));
  return asked;
}

function group(alias: bigint, groupId: bigint): Uint8Array {
  return encodeDataStreamHeader({
    type: "SUBGROUP",
    trackAlias: alias,
    groupId,
    subgroupId: 0n,
    publisherPriority: 1,
    hasProperties: false,
    endOfGroup: false,
    firstObject: true,
  });
}

/** How a stream of a peer ends: FIN, or a reset code. */
async function endOf(stream: TransportStream): Promise<"FIN" | bigint> {
  try {
    while ((await stream.read()) !== null);
    return "FIN";
  } catch (error) {
    assert.ok(error instanceof StreamReset, String(error));
    return error.applicationCode;
  }
}

/** The code that a request of the client was cancelled with. */
const codeOf = ({ end }: Asked): bigint | undefined =>
  end?.how === "cancelled" ? end.code : undefined;

const aliasAt = ({ answer }: Asked): bigint => {
  assert.ok(answer?.type === "SUBSCRIBE_OK");
  return answer.trackAlias;
};

const reissuing: ProxyBedOptions = { proxy: { reissues: true, drainDeadline: 10_000 } };
const evil = "https://evil.example/moq";

describe("GOAWAY of a relay on its control stream", () => {
  test("moves everything on that session, and nothing of it reaches the client [LB-PGOAWAY-1] [LB-PGOAWAY-2] [LB-PGOAWAY-3] [LB-PGOAWAY-4] [LB-PGOAWAY-5] [LB-GOAWAY-1] [LB-GOAWAY-2] [LB-GOAWAY-3] [LB-HEALTH-4] [GA-07]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on, off } = namesOn("r1");
    const moved = await askAll(bed, on);
    const others = await askAll(bed, off, ["SUBSCRIBE", "SUBSCRIBE_TRACKS"]);
    const other = bed.dialled.find(({ rid }) => rid !== "r1");
    assert.ok(other);
    bed.relay("r1").session.goaway({ newSessionUri: evil });
    await bed.pass(4000);
    assert.deepEqual(bed.client.goaways, []);
    assert.ok(bed.dialled.every(({ rid }) => rid !== "evil"));
    for (const [type, asked] of moved) {
      const uris = asked.goaways.map(({ newSessionUri }) => newSessionUri);
      assert.deepEqual(uris, type === "SUBSCRIBE" ? [] : [""], type);
    }
    for (const asked of others.values()) assert.deepEqual(asked.goaways, []);
    const next = await bed.client.ask(requestFor("SUBSCRIBE", `${on}--again`));
    assert.equal(next.answer?.type, "SUBSCRIBE_OK");
    assert.equal(bed.relay("r1").of("SUBSCRIBE").length, 1);
  });

  test("ends what cannot be moved when its time is up [LB-DISPL-6] [LB-S53]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on } = namesOn("r1");
    const fetch = await bed.client.ask(requestFor("FETCH", on));
    await bed.relay("r1").send(new Uint8Array([0x05, 0]));
    bed.relay("r1").session.goaway({ newSessionUri: evil, timeout: 2000 });
    await bed.pass(1900);
    assert.equal(codeOf(fetch), undefined);
    await bed.pass(100);
    assert.equal(codeOf(fetch), streamResetCodes.GOING_AWAY);
    const [received] = bed.client.streams;
    assert.ok(received);
    assert.equal(await endOf(received.stream), streamResetCodes.GOING_AWAY);
    // Nothing is left there, or the relay's time is up: whichever is first ends the session.
    await bed.relay("r1").session.closed;
  });
});

test("a SUBSCRIBE for a relay that goes away at once is made at another one [LB-PGOAWAY-5] [LB-DISPL-5] [LB-PMOVE-3]", async () => {
  const bed = bedThatGrants(reissuing);
  const grants = bed.onRelay;
  bed.onRelay = (relay, rid) => {
    grants?.(relay, rid);
    if (rid === "r1") relay.session.goaway();
  };
  const asked = await bed.client.ask(requestFor("SUBSCRIBE", `${namesOn("r1").on}--v`));
  await bed.pass(3000);
  assert.equal(asked.answer?.type, "SUBSCRIBE_OK");
  assert.equal(bed.relay("r1").of("SUBSCRIBE").length, 0);
});

describe("GOAWAY of a relay on the stream of one request", () => {
  test("moves that one alone, and leaves the relay Healthy [LB-PGOAWAY-6] [LB-GOAWAY-2] [LB-PDATA-8] [GA-06]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on } = namesOn("r1");
    const [one, other] = [
      await bed.client.ask(requestFor("SUBSCRIBE", `${on}--a`)),
      await bed.client.ask(requestFor("SUBSCRIBE", `${on}--b`)),
    ];
    const relay = bed.relay("r1");
    relay.of("SUBSCRIBE")[0]?.goaway({ newSessionUri: evil });
    await bed.pass(3000);
    // The table has not changed: it is made again where it was, once.
    const names = relay
      .of("SUBSCRIBE")
      .map(({ message }) =>
        formatName(routingKey(message) ?? [], (message as { trackName: Uint8Array }).trackName),
      );
    assert.deepEqual(names, [`${on}--a`, `${on}--b`, `${on}--a`]);
    assert.deepEqual([one?.goaways, other?.goaways], [[], []]);
    const later = await bed.client.ask(requestFor("SUBSCRIBE", `${on}--c`));
    assert.equal(later.answer?.type, "SUBSCRIBE_OK");
    assert.equal(relay.of("SUBSCRIBE").length, 4);
    relay.of("SUBSCRIBE")[2]?.goaway({ newSessionUri: evil });
    await bed.pass(3000);
    assert.equal(one?.news[0]?.type, "PUBLISH_DONE");
    assert.equal(relay.of("SUBSCRIBE").length, 4);
  });

  test("asks the client for what is not made again here [LB-PMOVE-16] [LB-S98]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on } = namesOn("r1");
    const asked = await bed.client.ask(requestFor("PUBLISH_NAMESPACE", on));
    bed.relay("r1").only("PUBLISH_NAMESPACE").goaway({ newSessionUri: evil, timeout: 4000 });
    await bed.pass(3000);
    assert.deepEqual(
      asked.goaways.map(({ newSessionUri, timeout }) => [newSessionUri, timeout]),
      [["", 4000n]],
    );
  });
});

describe("a rotation that moves a namespace", () => {
  test("has four kinds of requests asked for again, and the client makes them at the new relay on the same session, beside the old ones [LB-DISPL-1] [LB-PMOVE-1] [LB-S97] [LB-PMOVE-15] [LB-PMOVE-16] [LB-PMOVE-17] [LB-PMOVE-22]", async () => {
    const bed = bedThatGrants({ ...reissuing, routes: pinned("r1") });
    const types = granted.filter((type) => type !== "SUBSCRIBE");
    const asked = await askAll(bed, "live-a", types);
    bed.rotate(pinned("r2"));
    await bed.pass(3000);
    for (const type of types) {
      assert.deepEqual(
        asked.get(type)?.goaways.map(({ newSessionUri }) => newSessionUri),
        [""],
        type,
      );
      const again = await bed.client.ask(requestFor(type, "live-a"));
      assert.equal(again.answer?.type, grantOf(type).type, type);
      const [at] = bed.relay("r2").of(type);
      assert.deepEqual(at && routingKey(at.message), [utf8("live"), utf8("a")]);
      assert.equal(bed.relay("r1").of(type).length, 1);
      // The old one lives until the client lets go of it, or its time is up.
      assert.equal(bed.relay("r1").only(type).isOver, false);
    }
    await bed.pass(7500);
    for (const type of types) assert.equal(bed.relay("r1").only(type).isOver, true);
  });

  test("has a SUBSCRIBE made again, and the client notices a group boundary at most [LB-PMOVE-2] [LB-PMOVE-3] [LB-PMOVE-10] [LB-PAFF-2] [PX-04]", async () => {
    const bed = bedThatGrants({ ...reissuing, routes: pinned("r1") });
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a--v"));
    const alias = aliasAt(asked);
    await bed.relay("r1").send(group(5n, 7n), true);
    bed.rotate(pinned("r2"));
    await bed.pass(3000);
    await bed.relay("r2").send(group(5n, 8n), true);
    assert.deepEqual(
      bed.client.streams.map(
        ({ header }) => header.type === "SUBGROUP" && [header.trackAlias, header.groupId],
      ),
      [
        [alias, 7n],
        [alias, 8n],
      ],
    );
    await bed.pass(500);
    assert.deepEqual([asked.news, asked.goaways], [[], []]);
    assert.equal(bed.relay("r1").only("SUBSCRIBE").isOver, true);
  });

  test("frees the alias of the old relay, which gives it to another track, while the client keeps both apart, also when the first comes back [LB-PMAP-9] [LB-PMAP-13] [LB-PDATA-14] [PX-02]", async () => {
    const vod = { prefix: ["vod"], kind: "static", rid: "r1" };
    const bed = bedThatGrants({ ...reissuing, routes: [...pinned("r1"), vod] });
    const first = await bed.client.ask(requestFor("SUBSCRIBE", "live-a--v"));
    await bed.relay("r1").send(group(5n, 7n), true);
    bed.rotate([...pinned("r2"), vod]);
    await bed.pass(3000);
    await bed.relay("r2").send(group(5n, 8n), true);
    await bed.pass(3000);
    assert.equal(bed.relay("r1").only("SUBSCRIBE").isOver, true);
    const second = await bed.client.ask(requestFor("SUBSCRIBE", "vod-b--v"));
    assert.notEqual(aliasAt(second), aliasAt(first));
    await bed.relay("r1").send(group(5n, 20n), true);
    await bed.relay("r2").send(group(5n, 9n), true);
    bed.rotate([...pinned("r1"), vod]);
    await bed.pass(3000);
    // 5 is taken there now.
    await bed.relay("r1").send(group(6n, 10n), true);
    await bed.relay("r1").send(group(5n, 21n), true);
    assert.deepEqual(
      bed.client.streams.map(
        ({ header }) => header.type === "SUBGROUP" && [header.trackAlias, header.groupId],
      ),
      [
        [aliasAt(first), 7n],
        [aliasAt(first), 8n],
        [aliasAt(second), 20n],
        [aliasAt(first), 9n],
        [aliasAt(first), 10n],
        [aliasAt(second), 21n],
      ],
    );
    assert.deepEqual([bed.client.session.isOver, bed.relay("r1").session.isOver], [false, false]);
    assert.deepEqual(bed.faults, []);
  });

  test("asks for a SUBSCRIBE too where the balancer makes none again [LB-PMOVE-2] [LB-PMOVE-18] [LB-PMOVE-19]", async () => {
    const bed = bedThatGrants({ routes: pinned("r1") });
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a--v"));
    bed.rotate(pinned("r2"));
    await bed.pass(3000);
    assert.deepEqual(
      asked.goaways.map(({ newSessionUri }) => newSessionUri),
      [""],
    );
    assert.equal(bed.relay("r1").of("SUBSCRIBE").length, 1);
    const again = await bed.client.ask(requestFor("SUBSCRIBE", "live-a--v"));
    assert.equal(again.answer?.type, "SUBSCRIBE_OK");
    assert.equal(bed.relay("r2").of("SUBSCRIBE").length, 1);
  });

  test("lets a FETCH and a TRACK_STATUS finish where they began [LB-PMOVE-12] [LB-PMOVE-13] [LB-DISPL-4]", async () => {
    const bed = new ProxyBed({ ...reissuing, routes: pinned("r1") });
    const fetch = await bed.client.ask(requestFor("FETCH", "live-a--v"));
    const status = await bed.client.ask(requestFor("TRACK_STATUS", "live-a--v"));
    const relay = bed.relay("r1");
    relay.only("FETCH").send(grantOf("FETCH"));
    const stream = await relay.send(new Uint8Array([0x05, 0]));
    bed.rotate(pinned("r2"));
    await bed.pass(5000);
    relay.only("TRACK_STATUS").send(grantOf("TRACK_STATUS"));
    await stream.write(utf8("objects"), true);
    await settle();
    assert.equal(status.answer?.type, "REQUEST_OK");
    const [received] = bed.client.streams;
    assert.ok(received);
    assert.equal(await endOf(received.stream), "FIN");
    assert.deepEqual(fetch.goaways, []);
    assert.equal(
      bed.dialled.some(({ rid }) => rid === "r2"),
      false,
    );
  });

  test("ends at the Drain Deadline what has nowhere to go, each as what it is [LB-DISPL-3] [LB-DISPL-14] [LB-DISPL-15] [LB-DISPL-16] [LB-PMOVE-24] [LB-A19] [LB-S51]", async () => {
    const bed = bedThatGrants({ ...reissuing, routes: pinned("r1") });
    const asked = await askAll(bed, "live-a");
    const relay = bed.relay("r1");
    relay.onRequest = undefined;
    const pending = await bed.client.ask(requestFor("SUBSCRIBE", "live-a--pending"));
    bed.rotate(nowhere);
    await bed.pass(9900);
    for (const each of [...asked.values(), pending]) assert.equal(each.end, undefined);
    await bed.pass(200);
    const done = asked.get("SUBSCRIBE")?.news[0];
    assert.equal(done?.type === "PUBLISH_DONE" && done.statusCode, publishDoneCodes.GOING_AWAY);
    assert.equal(pending.error, requestErrorCodes.GOING_AWAY);
    for (const type of granted.slice(1)) {
      const each = asked.get(type);
      assert.equal(each && codeOf(each), streamResetCodes.GOING_AWAY, type);
    }
    assert.equal(relay.only("PUBLISH").isOver, true);
    assert.equal(bed.proxied.mappings.size, 0);
    assert.deepEqual(bed.faults, []);
  });
});

describe("a relay that is lost", () => {
  const fail = (relay: Peer) => relay.session.close("INTERNAL_ERROR", "it failed");

  test("is Unhealthy here, its subscriptions go on elsewhere at once, and the client's session lives [LB-HEALTH-5] [LB-DISPL-11] [LB-PMAP-11] [LB-PMOVE-21] [LB-S76]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on, off } = namesOn("r1");
    const moved = await bed.client.ask(requestFor("SUBSCRIBE", `${on}--v`));
    const stays = await bed.client.ask(requestFor("SUBSCRIBE", `${off}--v`));
    const alias = aliasAt(moved);
    await bed.relay("r1").send(group(5n, 7n));
    const before = bed.dialled.length;
    fail(bed.relay("r1"));
    await bed.pass(10);
    const made = bed.dialled.flatMap(({ relay }) => relay.of("SUBSCRIBE"));
    assert.equal(made.length, 3);
    assert.ok(bed.dialled.length >= before);
    assert.deepEqual([moved.news, moved.goaways, stays.news], [[], [], []]);
    const [cut] = bed.client.streams;
    assert.ok(cut);
    assert.equal(await endOf(cut.stream), streamResetCodes.SESSION_CLOSED);
    const next = bed.dialled.find(({ relay }) =>
      relay.of("SUBSCRIBE").some((each) => !each.isOver && each.message.parameters.length > 0),
    );
    assert.ok(next);
    assert.notEqual(next.rid, "r1");
    await next.relay.send(group(5n, 8n), true);
    const last = bed.client.streams.at(-1)?.header;
    assert.deepEqual(last?.type === "SUBGROUP" && [last.trackAlias, last.groupId], [alias, 8n]);
    assert.equal(bed.proxySession.isOver, false);
  });

  test("fails its FETCHes, which the client may make again elsewhere [LB-PMOVE-14]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on } = namesOn("r1");
    const fetch = await bed.client.ask(requestFor("FETCH", `${on}--v`));
    await bed.relay("r1").send(new Uint8Array([0x05, 0]));
    fail(bed.relay("r1"));
    await bed.pass(10);
    assert.equal(codeOf(fetch), streamResetCodes.GOING_AWAY);
    const again = await bed.client.ask(requestFor("FETCH", `${on}--v`));
    assert.equal(again.answer?.type, "FETCH_OK");
    assert.notEqual(bed.dialled.at(-1)?.rid, "r1");
  });

  test("has its publishers asked, who publish elsewhere [LB-PMOVE-15] [LB-PMOVE-22]", async () => {
    const bed = bedThatGrants(reissuing);
    const { on } = namesOn("r1");
    const asked = await bed.client.ask(requestFor("PUBLISH", `${on}--v`));
    fail(bed.relay("r1"));
    await bed.pass(10);
    assert.deepEqual(
      asked.goaways.map(({ newSessionUri }) => newSessionUri),
      [""],
    );
    const again = await bed.client.ask({
      ...requestFor("PUBLISH", `${on}--v`),
      trackAlias: 4n,
    } as never);
    assert.equal(again.answer?.type, "REQUEST_OK");
    assert.notEqual(bed.dialled.at(-1)?.rid, "r1");
  });
});

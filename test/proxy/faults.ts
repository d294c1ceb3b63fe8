/**
 * What goes wrong around a balancer in proxy mode, over real connections. A runtime's test file
 * calls {@link proxyFaults} with its way to be connected to.
 *
 * @module
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../src/bytes.ts";
import { selectRelay } from "../../src/hrw/mod.ts";
import {
  type Draft,
  parseName,
  requestErrorName,
  sessionErrorCodes,
  streamResetCodes,
} from "../../src/moqt/mod.ts";
import type { IncomingRequest } from "../../src/session/mod.ts";
import type { ReceivedTrack } from "../support/proxy/received-track.ts";
import { type Publication, publishGroup, RelayProcess } from "../support/proxy/relay-process.ts";
import { nameOf, type ScriptedPeer } from "../support/proxy/scripted-peer.ts";
import { QuicWire, type Wire } from "../support/proxy/wires.ts";
import { fromGroup, ProxyBed, type ProxyBedOptions } from "../support/proxy-bed.ts";
import { bytesOf } from "../support/raw-peer.ts";

/**
 * Milliseconds for which snapshots rotate. `PROXY_ROTATION_SECONDS=60` makes it the whole minute, for
 * which the runner has to give a test more time than usual.
 */
const rotationTime = Number(process.env.PROXY_ROTATION_SECONDS ?? 5) * 1000;

const anywhere = { "": ["r1", "r2"] } as const;

export interface FaultWires {
  /** Between clients, balancer and relays. */
  readonly wire: Wire;
  /** One on which datagrams carry less than on `wire`. */
  readonly narrow: Wire;
}

type Body = (bed: ProxyBed) => Promise<void>;

/** Registers the scenarios under `name`. */
export function proxyFaults(name: string, wires: FaultWires): void {
  const scenario: Scenario = (title, options, body) => {
    test(title, async () => {
      const bed = await ProxyBed.start({ wire: wires.wire, ...options });
      try {
        await body(bed);
        bed.check();
      } finally {
        await bed.close();
      }
    });
  };
  describe(`proxy mode over ${name}: relays that fail`, () => relayFaults(scenario));
  describe(`proxy mode over ${name}: a relay that is gone`, sudden);
  describe(`proxy mode over ${name}: relays that leave`, () => goaways(scenario));
  describe(`proxy mode over ${name}: clients`, () => clients(scenario));
  describe(`proxy mode over ${name}: rotation`, () => rotation(scenario));
  describe(`proxy mode over ${name}: datagrams`, () => datagrams(scenario, wires.narrow));
}

type Scenario = (title: string, options: ProxyBedOptions, body: Body) => void;

function relayFaults(scenario: Scenario): void {
  scenario(
    "50 subscribers of a relay that is killed in the middle of a group get all that follows from the other, and nothing twice [LB-DISPL-11] [LB-DISPL-12] [LB-HEALTH-5] [LB-PMOVE-3] [LB-PMOVE-10] [LB-S96]",
    { routes: anywhere },
    async (bed) => {
      const live = bed.origin.track("live--video");
      const subscribers = await subscribed(bed, 50, "live--video");
      const { relay, others } = bed.serving("live--video");
      for (let group = 0; group < 3; group++) live.group(3, 1500);
      live.begin();
      live.object(1500);
      live.object(1500);
      await each(subscribers, (track) =>
        track.until("two objects of the third group", ({ units }) =>
          units.some(({ group, objects }) => group === 3 && objects === 2),
        ),
      );
      await relay.kill();
      const moved = () => others[0]?.sending.length === 50;
      await others[0]?.until("every subscriber has moved", moved);
      live.object(1500);
      live.end();
      for (let group = 4; group < 8; group++) live.group(3, 1500);
      await each(subscribers, async (track) => {
        for (const group of [0, 1, 2, 4, 5, 6, 7]) await track.whole(group);
        const cut = track.units.find(({ group }) => group === 3);
        await track.until("the third group is cut", () => cut?.end !== "open");
        assert.equal(cut?.end, streamResetCodes.SESSION_CLOSED);
        assert.deepEqual(track.groups.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert.equal(track.end, undefined);
      });
      const states = bed.proxy.server.localHealth.map(({ state }) => state);
      assert.deepEqual(states, ["unhealthy"]);
    },
  );

  scenario(
    "a request that its relay grants and then resets is reset at the client with the same code, and the session goes on [LB-PDATA-17]",
    {},
    async (bed) => {
      bed.relay("r1").onRequest = (request, session) => {
        if (nameOf(request) !== "live--reset") return false;
        const sending = session.accept(request);
        const { changed } = sending.track;
        void changed.then(() => {
          sending.reset(streamResetCodes.DELIVERY_TIMEOUT);
          request.cancel("EXCESSIVE_LOAD");
        });
        return true;
      };
      const client = await bed.client();
      const steady = await client.subscribe("live--steady");
      const track = await client.subscribe("live--reset");
      bed.origin.track("live--reset").begin();
      await track.until("it ends", ({ end }) => end !== undefined);
      assert.ok(track.end?.how === "cancelled");
      assert.equal(track.end.code, streamResetCodes.EXCESSIVE_LOAD);
      for (const { end } of track.units) assert.ok(typeof end === "bigint" || end === "open");
      bed.origin.track("live--steady").group();
      await steady.whole(0);
      assert.equal(client.close, undefined);
    },
  );

  scenario(
    "a relay that answers with a malformed message loses its session; the client's goes on [LB-PMAP-11] [LB-S76] [LB-S125]",
    { routes: { live: "r1", ops: "r2" } },
    async (bed) => {
      bed.relay("r1").onRequest = (request) => {
        if (nameOf(request) !== "live--broken") return false;
        request.refuse(bytesOf("04 0003 ffffff"));
        return true;
      };
      const client = await bed.client();
      const elsewhere = await client.subscribe("ops--log");
      const neighbour = await client.subscribe("live--good");
      const { answer } = client.trySubscribe("live--broken");
      const message = await answer;
      assert.ok(message.type === "REQUEST_ERROR");
      assert.ok(requestErrorName(message.errorCode, 22));
      assert.equal(message.errorReason, "");
      const [session] = bed.relay("r1").sessions;
      const { code } = (await session?.closed) ?? {};
      assert.equal(code, sessionErrorCodes.PROTOCOL_VIOLATION);
      await neighbour.until("the neighbour is ended", ({ done }) => done !== undefined);
      bed.origin.track("ops--log").group();
      await elsewhere.whole(0);
      assert.equal(client.close, undefined);
    },
  );
}

function goaways(scenario: Scenario): void {
  for (const [draft, timeout] of [
    [22, 0],
    [22, 2000],
    [20, 0],
    [18, 2000],
  ] as const) {
    scenario(
      `tracks of a relay that sends GOAWAY with a timeout of ${timeout} ms in draft ${draft} go on from the next group at the other, whole [LB-HEALTH-4] [LB-PGOAWAY-1] [LB-PGOAWAY-2] [LB-PGOAWAY-4] [LB-PGOAWAY-5] [LB-PMOVE-3] [LB-PMOVE-7] [LB-PMOVE-8] [LB-PMOVE-10] [LB-S49]`,
      { routes: anywhere, drainDeadline: 3000 },
      async (bed) => {
        const live = bed.origin.track("live--video");
        const subscribers = await subscribed(bed, 5, "live--video", draft);
        const { relay, others } = bed.serving("live--video");
        live.group(3, 1500);
        live.begin();
        live.object();
        await each(subscribers, (track) =>
          track.until("the open group", ({ units }) => units[1]?.objects === 1),
        );
        relay.goaway(timeout);
        const moved = () => others[0]?.sending.length === 5;
        await others[0]?.until("every subscriber has moved", moved);
        // The old relay still ends what it began.
        live.object();
        live.end();
        for (let group = 2; group < 6; group++) live.group(3, 1500);
        await each(subscribers, async (track) => {
          for (let group = 0; group < 6; group++) await track.whole(group);
          assert.deepEqual(track.groups.toSorted(), [0, 1, 2, 3, 4, 5]);
        });
        for (const { goaways } of bed.clients) assert.deepEqual(goaways, []);
        for (const { closed } of relay.sessions) {
          assert.equal((await closed).code, sessionErrorCodes.NO_ERROR);
        }
      },
    );
  }

  scenario(
    "a subscription to namespaces is asked for elsewhere, with an empty URI and in time, and can be made again [LB-PMOVE-15] [LB-PMOVE-16] [LB-PMOVE-17] [LB-S98]",
    { routes: anywhere, drainDeadline: 3000 },
    async (bed) => {
      const client = await bed.client();
      const ask = () =>
        client.session.request({
          type: "SUBSCRIBE_NAMESPACE",
          trackNamespacePrefix: parseName("live-game").trackNamespace,
          parameters: [],
        });
      const request = ask();
      const asked = new Promise<{ newSessionUri: string; timeout: bigint }>((resolve) => {
        request.onGoaway = resolve;
      });
      assert.equal((await request.answer).type, "REQUEST_OK");
      const relay = Object.values(bed.relays).find(({ seen }) => seen.length === 1);
      relay?.goaway(2000);
      const { newSessionUri, timeout } = await asked;
      assert.equal(newSessionUri, "");
      assert.ok(timeout > 0n && timeout <= 2000n);
      const again = ask();
      assert.equal((await again.answer).type, "REQUEST_OK");
      request.cancel();
      const other = Object.values(bed.relays).find((each) => each !== relay);
      assert.equal(other?.seen.length, 1);
    },
  );
}

function clients(scenario: Scenario): void {
  scenario(
    "a client that stops reading one track of three still gets the two others, and the third when it reads again [LB-SEC-30]",
    {},
    async (bed) => {
      const client = await bed.client();
      const names = ["live--a", "live--b", "live--c"];
      const [a, b] = await Promise.all(names.slice(0, 2).map((name) => client.subscribe(name)));
      const stuck = await client.subscribe("live--c", [], true);
      const size = 16_000;
      const objects = 200;
      for (const name of names) bed.origin.track(name).begin();
      for (let object = 0; object < objects; object++) {
        for (const name of names) bed.origin.track(name).object(size);
      }
      for (const name of names) bed.origin.track(name).end();
      await each([a, b], (track) => track?.whole(0));
      assert.equal(stuck.objects, 0);
      // What the client does not read stays at the relay, but for the windows on the way.
      const open = bed.relay("r1").sending.filter(({ finished }) => finished === 0);
      assert.deepEqual(
        open.map(({ track }) => track.name),
        ["live--c"],
      );
      stuck.resume();
      await stuck.whole(0);
      for (const track of [a, b, stuck]) assert.equal(track?.objects, objects);
    },
  );

  scenario(
    "a client publishes and subscribes in one session, to itself too [LB-PDATA-9] [LB-PDATA-10] [LB-PDATA-12] [LB-PDATA-16]",
    {},
    async (bed) => {
      const client = await bed.client();
      await client.publish("live--up");
      const back = await client.subscribe("live--up");
      const down = await client.subscribe("live--down");
      for (let group = 0; group < 4; group++) {
        client.origin.track("live--up").group(3, 3000);
        bed.origin.track("live--down").group(3, 3000);
      }
      for (let group = 0; group < 4; group++) {
        await back.whole(group);
        await down.whole(group);
      }
      assert.equal(back.objects + down.objects, 24);
      const [up] = bed.relay("r1").session.receiving;
      assert.deepEqual(up?.groups.toSorted(), [0, 1, 2, 3]);
    },
  );

  scenario(
    "two clients with the same Request IDs and Track Aliases each get their own objects, and so do the relays [LB-PMAP-8] [LB-PMAP-9] [LB-PMAP-12] [LB-PMAP-13] [LB-PDATA-14] [LB-PDATA-15]",
    { routes: { live: "r1", ops: "r2" } },
    async (bed) => {
      const both = [await bed.client(), await bed.client()] as const;
      const got: ReceivedTrack[] = [];
      for (const [i, client] of both.entries()) {
        // Relays count their aliases from the same number, and so do both clients.
        await client.publish(`live-c${i}--up`);
        got.push(await client.subscribe(`live-c${i}--down`));
        got.push(await client.subscribe(`ops-c${i}--down`));
      }
      for (let group = 0; group < 3; group++) {
        for (const { name } of got) bed.origin.track(name).group(4, 1000 + group);
        for (const [i, { origin }] of both.entries()) origin.track(`live-c${i}--up`).group(4, 900);
      }
      await each(got, async (track) => {
        for (let group = 0; group < 3; group++) await track.whole(group);
      });
      const ups = bed.relay("r1").sessions.flatMap(({ receiving }) => receiving);
      assert.equal(ups.length, 2);
      await each(ups, async (track) => {
        for (let group = 0; group < 3; group++) await track.whole(group);
      });
      for (const client of both) assert.deepEqual(idsOf(client.receiving), [2n, 4n]);
      for (const { requests } of bed.relay("r1").sessions) {
        assert.deepEqual(requests.map(idOf), [0n, 2n]);
      }
      for (const { requests } of bed.relay("r2").sessions) {
        assert.deepEqual(requests.map(idOf), [0n]);
      }
    },
  );
}

function rotation(scenario: Scenario): void {
  scenario(
    `a snapshot every 100 ms, ${rotationTime / 1000} s long, moves 100 namespaces to and fro, and no group is lost or comes twice [LB-DISPL-1] [LB-PMOVE-1] [LB-PMOVE-7] [LB-PMOVE-8]`,
    // Groups that a busy machine is slow to bring are not to be cut at the deadline.
    { drainDeadline: 15_000 },
    async (bed) => {
      const spaces = Array.from({ length: 100 }, (_, i) => `n${i}`);
      let seed = 1;
      const place = () =>
        Object.fromEntries(
          spaces.map((name) => {
            seed = (seed * 1_103_515_245 + 12_345) % 0x8000_0000;
            return [name, (seed >> 16) % 2 === 0 ? "r1" : "r2"];
          }),
        );
      bed.rotate(place());
      const client = await bed.client();
      const tracks = await Promise.all(
        spaces.map((name) => client.subscribe(`${name}--v`, [fromGroup(0)])),
      );
      const end = performance.now() + rotationTime;
      let rotations = 0;
      for (; performance.now() < end; rotations++) {
        for (const { name } of tracks) {
          const track = bed.origin.track(name);
          // A group lasts for half a second, in which it may have to stay where it is.
          if (rotations % 5 === 0) track.begin();
          track.object(300);
        }
        bed.rotate(place());
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      for (const { name } of tracks) bed.origin.track(name).end();
      await each(tracks, async (track) => {
        const { groups } = bed.origin.track(track.name);
        // Not the FINs: where the machine is too busy, some of those that come alone are missing.
        for (const [group, { objects }] of groups.entries()) {
          await track.until(`all objects of group ${group}`, ({ units }) =>
            units.some((unit) => unit.group === group && unit.objects === objects.length),
          );
        }
        assert.equal(track.units.length, groups.length, String(track));
        assert.equal(track.objects, rotations, String(track));
      });
      const asked = Object.values(bed.relays).flatMap(({ seen }) => seen).length;
      assert.ok(asked > 2 * spaces.length, `${asked} requests came to relays: hardly any moved`);
    },
  );
}

function datagrams(scenario: Scenario, narrow: Wire): void {
  scenario(
    "those that are too large for the client's leg are dropped and counted, all others come as they were sent [LB-PDATA-19] [LB-PDATA-20] [LB-S73]",
    { clientWire: narrow },
    async (bed) => {
      const client = await bed.client();
      const track = await client.subscribe("live--data");
      const { session } = bed.relay("r1");
      const [sending] = session.sending;
      assert.ok(sending);
      const largest = session.session.transport.maxDatagramSize;
      const forClient = client.session.transport.maxDatagramSize;
      assert.ok(forClient > 0 && forClient < largest, `${forClient} and ${largest}`);
      const overhead = 5;
      assert.ok(session.datagram(sending, 0, 0, 100));
      assert.ok(session.datagram(sending, 0, 1, largest - overhead));
      assert.ok(session.datagram(sending, 0, 2, 200));
      await track.until("the last one", ({ datagrams: came }) => came.length === 2);
      assert.deepEqual(track.datagrams, [
        { group: 0, object: 0 },
        { group: 0, object: 2 },
      ]);
      assert.equal(bed.proxy.server.status().proxy.data.dropped.datagrams, 1);
      assert.equal(client.close, undefined);
    },
  );
}

function sudden(): void {
  test("five subscribers of a relay whose process is killed, which says nothing to anybody, get all that follows from the other, and nothing twice [LB-DISPL-11] [LB-DISPL-12] [LB-HEALTH-5] [LB-PMOVE-10]", async () => {
    const directory = await mkdtemp(join(tmpdir(), "yardmaster-relay-"));
    // Long enough for a machine that is busy, and less than what is given for the moves.
    const wire = await QuicWire.open("quiche", { directory, idleTimeout: 3000 });
    const doomed = await RelayProcess.start(directory);
    const bed = await ProxyBed.start({
      wire,
      clientWire: await QuicWire.open("quiche"),
      relays: ["r1"],
      elsewhere: { r2: doomed.uri },
      routes: { "": ["r1", "r2"] },
    });
    try {
      const track = `${spaceOf("r2", ["r1", "r2"])}--video`;
      const publish = (objects: number, isOpen: boolean) => {
        for (const publishing of [
          (group: Publication) => doomed.publish(group),
          (group: Publication) => publishGroup(bed.origin, group),
        ]) {
          publishing({ track, size: 1500, objects, isOpen });
        }
      };
      const subscribers = await subscribed(bed, 5, track);
      assert.deepEqual(bed.relay("r1").seen, []);
      for (let group = 0; group < 3; group++) publish(3, false);
      publish(2, true);
      await each(subscribers, (received) =>
        received.until("two objects of the fourth group", ({ units }) =>
          units.some(({ group, objects }) => group === 3 && objects === 2),
        ),
      );
      await doomed.kill();
      await bed
        .relay("r1")
        .until("every subscriber has moved", ({ sending }) => sending.length === 5);
      bed.origin.track(track).object(1500);
      for (let group = 4; group < 8; group++) bed.origin.track(track).group(3, 1500);
      await each(subscribers, async (received) => {
        for (const group of [0, 1, 2, 4, 5, 6, 7]) await received.whole(group);
        const cut = received.units.find(({ group }) => group === 3);
        await received.until("the fourth group is cut", () => cut?.end !== "open");
        assert.equal(cut?.end, streamResetCodes.SESSION_CLOSED);
        assert.deepEqual(received.groups.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert.equal(received.end, undefined);
      });
      const states = bed.proxy.server.localHealth.map(({ state }) => state);
      assert.deepEqual(states, ["unhealthy"]);
      bed.check();
    } finally {
      await doomed.kill();
      await bed.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
}

/** A namespace of one field that a route over `rids` gives to `rid`. */
function spaceOf(rid: string, rids: readonly string[]): string {
  const candidates = rids.map((each) => ({ rid: utf8(each) }));
  for (let count = 0; ; count++) {
    const space = `live${count}`;
    const chosen = selectRelay("HRW-SHA256", [utf8(space)], candidates);
    if (chosen !== undefined && toHex(chosen.rid) === toHex(utf8(rid))) return space;
  }
}

/** As many clients, each with a subscription to the same track. */
async function subscribed(
  bed: ProxyBed,
  count: number,
  name: string,
  draft?: Draft,
): Promise<ReceivedTrack[]> {
  const clients: ScriptedPeer[] = [];
  for (let each = 0; each < count; each++) clients.push(await bed.client(draft));
  return await Promise.all(clients.map((client) => client.subscribe(name)));
}

async function each<Item>(items: readonly Item[], act: (item: Item) => Promise<void> | undefined) {
  await Promise.all(items.map(act));
}

function idOf({ message }: Pick<IncomingRequest, "message">): bigint {
  return message.requestId;
}

function idsOf(tracks: readonly ReceivedTrack[]): bigint[] {
  return tracks.map(({ request }) => idOf(request));
}

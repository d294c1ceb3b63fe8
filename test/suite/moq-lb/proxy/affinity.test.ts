import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import { Affinities } from "../../../../src/moq-lb/proxy/affinity.ts";
import { type NewRequest, type RequestType, requestTypes } from "../../../../src/moqt/mod.ts";
import { routingTable } from "../../../../src/routing/mod.ts";
import { activate } from "../../routing/fixtures.ts";
import { grantOf, ProxyBed, requestFor, requestOk, ridOf, settle, snapshot } from "./bed.ts";

const pinned = (rid: string, ...prefix: string[]) => ({ prefix, kind: "static", rid });
const hashed = (rids: readonly unknown[], ...prefix: string[]) => ({
  prefix,
  kind: "hashed",
  rids,
});

/** A second field such that the three relays select `rid` for (live, it). */
function fieldFor(rid: string, start = 0): string {
  const table = routingTable(snapshot(1, [hashed(["r1", "r2", "r3"], "live")]));
  for (let count = start; ; count++) {
    const key = [utf8("live"), utf8(`n${count}`)];
    const selected = table.match(key)?.select(key)?.target.relay.rid;
    if (selected !== undefined && new TextDecoder().decode(selected) === rid) return `n${count}`;
  }
}

/** How many requests each relay of the bed has got. */
function spread(bed: ProxyBed): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rid, relay } of bed.dialled) {
    counts[rid] = (counts[rid] ?? 0) + relay.requests.length;
  }
  return counts;
}

describe("affinity", () => {
  test("fifty later requests stay where the first went, whatever the health of others [LB-PAFF-1] [LB-S69]", async () => {
    const routes = [hashed(["r1", "r2", "r3"], "live")];
    const bed = new ProxyBed({ routes });
    const field = fieldFor("r2");
    // r2 is away at first: r1 or r3 is selected instead.
    bed.rotate(routes, { r2: "draining" });
    await bed.client.ask(requestFor("TRACK_STATUS", `live-${field}`));
    const [first] = bed.dialled;
    assert.ok(first && first.rid !== "r2");
    const third = ["r1", "r3"].find((rid) => rid !== first.rid) as string;
    for (let count = 0; count < 50; count++) {
      bed.rotate(routes, count % 2 === 0 ? {} : { [third]: "unhealthy" });
      await bed.client.ask(requestFor("TRACK_STATUS", `live-${field}`));
    }
    assert.deepEqual(spread(bed), { [first.rid]: 51 });
    // A namespace that is seen for the first time goes to the relay that has recovered.
    bed.rotate(routes);
    await bed.client.ask(
      requestFor("TRACK_STATUS", `live-${fieldFor("r2", Number(field.slice(1)) + 1)}`),
    );
    assert.deepEqual(spread(bed), { [first.rid]: 51, r2: 1 });
  });

  test("a table that maps the namespace elsewhere ends it, with or without open requests [LB-PAFF-2] [LB-A11] [LB-S68] [PX-04]", async () => {
    for (const answered of [true, false]) {
      const bed = new ProxyBed({ routes: [pinned("r1", "live")] });
      await bed.client.ask(requestFor("TRACK_STATUS", "live-a"));
      if (answered) bed.relay().only("TRACK_STATUS").send(requestOk);
      bed.rotate([pinned("r1", "live"), pinned("r2", "vod")]);
      await bed.client.ask(requestFor("TRACK_STATUS", "live-a"));
      assert.deepEqual(spread(bed), { r1: 2 });
      bed.rotate([pinned("r2", "live")]);
      await bed.client.ask(requestFor("TRACK_STATUS", "live-a"));
      assert.deepEqual(spread(bed), { r1: 2, r2: 1 });
    }
  });

  test("a relay that is lost takes no more: the next request selects again [LB-PAFF-3] [LB-S67]", async () => {
    const bed = new ProxyBed({ routes: [hashed(["r1", "r2", "r3"], "live")] });
    const name = `live-${fieldFor("r1")}`;
    await bed.client.ask(requestFor("TRACK_STATUS", name));
    bed.relay("r1").session.close("INTERNAL_ERROR");
    await settle();
    await bed.client.ask(requestFor("TRACK_STATUS", name));
    assert.equal(bed.dialled.length, 2);
    assert.notEqual(bed.dialled[1]?.rid, "r1");
  });

  test("what has moved is bound to where it went, although the former relay recovers [LB-PAFF-1] [LB-S50]", async () => {
    const routes = [hashed(["r1", "r2", "r3"], "live")];
    for (const type of ["SUBSCRIBE", "PUBLISH_NAMESPACE"] as const) {
      const bed = new ProxyBed({ routes, proxy: { reissues: true } });
      const name = `live-${fieldFor("r1")}`;
      const asked = await bed.client.ask(requestFor(type, name));
      bed.relay("r1").only(type).send(grantOf(type));
      await settle();
      bed.relay("r1").session.close("INTERNAL_ERROR");
      await bed.pass(100);
      // The balancer makes it again, or its client.
      if (type !== "SUBSCRIBE") {
        assert.equal(asked.goaways.length, 1);
        await bed.client.ask(requestFor(type, name));
      }
      const second = bed.dialled[1]?.rid;
      assert.ok(second && second !== "r1");
      bed.rotate(routes);
      await bed.client.ask(requestFor("TRACK_STATUS", name));
      assert.equal(bed.dialled.length, 2);
      assert.equal(bed.relay(second).of("TRACK_STATUS").length, 1);
    }
  });

  test("a relay that drains or has no weight any more gets nothing new [LB-S67] [LB-HEALTH-10]", async () => {
    const name = `live-${fieldFor("r1")}`;
    const all = [hashed(["r1", "r2", "r3"], "live")];
    const weightless = [hashed([{ rid: "r1", weight: 0 }, "r2", "r3"], "live")];
    for (const [routes, health] of [
      [all, { r1: "draining" }],
      [all, { r1: "unhealthy" }],
      [weightless, {}],
    ] as const) {
      const bed = new ProxyBed({ routes: all });
      await bed.client.ask(requestFor("TRACK_STATUS", name));
      bed.rotate(routes, health);
      await bed.client.ask(requestFor("TRACK_STATUS", name));
      assert.equal(bed.dialled.length, 2);
      assert.notEqual(bed.dialled[1]?.rid, "r1");
    }
  });

  test("covers every type of request, and the objects of all of them [LB-PAFF-4] [LB-PAFF-6]", async () => {
    const bed = new ProxyBed({ routes: [hashed(["r1", "r2", "r3"], "live")] });
    const types: readonly RequestType[] = requestTypes;
    for (const type of types) await bed.client.ask(requestFor(type, "live-a"));
    assert.equal(bed.dialled.length, 1);
    const relay = bed.dialled[0]?.relay;
    assert.equal(relay?.requests.length, types.length);
    relay?.only("PUBLISH").send(requestOk);
    await settle();
    await bed.client.send(new Uint8Array([0x10, 3, 1, 0, 0, 1, 0xaa]), true);
    bed.client.session.sendDatagram(new Uint8Array([0, 3, 1, 0, 0, 0xaa]));
    await settle();
    assert.equal(relay?.streams.length, 1);
    assert.equal(relay?.datagrams.length, 1);
  });

  test("updates and cancellations go to the relay that has the request [LB-PAFF-5]", async () => {
    const bed = new ProxyBed({ routes: [pinned("r1", "live")], proxy: { drainDeadline: 60_000 } });
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    const served = bed.relay("r1").only("SUBSCRIBE");
    served.send(grantOf("SUBSCRIBE"));
    const messages: string[] = [];
    served.onMessage = ({ type }) => messages.push(type);
    bed.rotate([pinned("r2", "live")]);
    void asked.request.update([]);
    await settle();
    assert.deepEqual(messages, ["REQUEST_UPDATE"]);
    asked.request.cancel();
    assert.equal((await served.ended).how, "cancelled");
    assert.equal(bed.dialled.length, 1);
  });

  test("binds a prefix as a namespace, not what is below it [LB-S70]", async () => {
    const bed = new ProxyBed({ routes: [pinned("r1", "live"), pinned("r2", "live", "a")] });
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live"));
    await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    assert.deepEqual(spread(bed), { r1: 1, r2: 1 });
  });

  test("new requests use a relay's new URI, old ones stay [LB-A23]", async () => {
    const bed = new ProxyBed({ routes: [pinned("r1", "live")] });
    const { holder } = bed;
    await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    const before = holder.active;
    assert.ok(before);
    const moved = {
      ...before.snapshot,
      version: 2,
      relays: before.snapshot.relays.map((relay) => ({
        ...relay,
        uri: "https://r3.example/elsewhere",
      })),
    };
    holder.active = activate(moved);
    bed.proxied.onSnapshot(before, holder.active);
    await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    assert.deepEqual(spread(bed), { r1: 1, r3: 1 });
    assert.deepEqual(
      [...bed.proxied.mappings].map(({ backend }) => backend.rid),
      [ridOf("r1"), ridOf("r1")],
    );
  });

  test("the oldest namespace without requests is forgotten first, and no more are kept than allowed [LB-PSETUP-19]", async () => {
    const active = activate(snapshot(1, [pinned("r1")]));
    const affinities = new Affinities(2);
    const key = (name: string) => [utf8(name)];
    affinities.bind(key("a"), ridOf("r1"), active);
    affinities.bind(key("b"), ridOf("r1"), active)();
    affinities.bind(key("c"), ridOf("r1"), active)();
    assert.equal(affinities.size, 2);
    assert.equal(affinities.relayOf(key("a"), active), ridOf("r1"));
    assert.equal(affinities.relayOf(key("b"), active), undefined);
  });

  test("a rotation looks only at namespaces that have requests; the others when they are used [LB-SEC-33] [LB-PAFF-2] [LB-A11]", () => {
    const before = activate(snapshot(1, [pinned("r1")]));
    const after = activate(snapshot(2, [pinned("r2")]));
    const affinities = new Affinities(4096);
    const key = (count: number) => [utf8(`n${count}`)];
    for (let count = 0; count < 1000; count++) {
      affinities.bind(key(count), ridOf("r1"), before)();
    }
    const release = affinities.bind([utf8("open")], ridOf("r1"), before);
    affinities.rotated(after);
    // The one with a request is gone at once: its relay is not the table's choice any more.
    assert.equal(affinities.size, 1000);
    assert.equal(affinities.relayOf(key(7), after), undefined);
    assert.equal(affinities.size, 999);
    release();
    // A table that has gone back to what it was leaves a namespace where its requests were.
    const again = activate(snapshot(3, [pinned("r1")]));
    affinities.rotated(again);
    assert.equal(affinities.relayOf(key(8), again), ridOf("r1"));
  });

  test("a namespace with a request stays although a relay that its new table likes more recovers later [LB-PAFF-1] [LB-A5]", () => {
    const routes = [hashed(["r1", "r2"], "live")];
    const key = [utf8("live"), utf8(fieldFor("r2"))];
    const affinities = new Affinities(4096);
    affinities.bind(key, ridOf("r1"), activate(snapshot(1, [pinned("r1", "live")])));
    // By the new route r2 is first, but it drains: r1 is selected.
    affinities.rotated(activate(snapshot(2, routes, { r2: "draining" })));
    const recovered = activate(snapshot(3, routes));
    affinities.rotated(recovered);
    assert.equal(affinities.relayOf(key, recovered), ridOf("r1"));
  });

  test("a flood of namespaces leaves no more behind than that [LB-PSETUP-19]", async () => {
    const bed = new ProxyBed({ limits: { maximumAffinities: 5 } });
    for (let count = 0; count < 20; count++) {
      const asked = await bed.client.ask(
        requestFor("PUBLISH_NAMESPACE", `live-n${count}`) as NewRequest,
      );
      asked.request.cancel();
      await settle();
    }
    assert.equal(bed.proxied.counts.affinities, 5);
    assert.equal(bed.proxied.counts.mappings, 0);
  });
});

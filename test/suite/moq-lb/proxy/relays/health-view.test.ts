import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../../../src/bytes.ts";
import {
  createHealthView,
  type HealthView,
  type LocalHealth,
} from "../../../../../src/moq-lb/proxy/relays/health-view.ts";
import { placeRequest, routingTable } from "../../../../../src/routing/mod.ts";
import {
  type ActiveSnapshot,
  type Health,
  parseSnapshot,
} from "../../../../../src/snapshot/mod.ts";
import {
  activate,
  assertRetry,
  fields,
  hashed,
  now,
  pinned,
  request,
  ridOf,
} from "../../../routing/fixtures.ts";

const rid = (name: string) => toHex(utf8(name));

function version(number: number, health: Record<string, Health> = {}): ActiveSnapshot {
  const relays = ["r1", "r2", "r3"].map((name) => ({
    rid: name,
    uri: `https://${name}.example/moq`,
    health: health[name] ?? "healthy",
  }));
  const routes = [hashed(["live"]), pinned("r1", "ops")];
  return activate(parseSnapshot({ version: number, relays, routes }));
}

function view(active: ActiveSnapshot | undefined = version(1)) {
  const holder = { active };
  let time = now;
  const health = createHealthView(holder, () => time++);
  return { holder, health };
}

function placed({ active }: HealthView, ...namespace: string[]) {
  return placeRequest(request("SUBSCRIBE", fields(...namespace)), active, now);
}

const meetings = Array.from({ length: 60 }, (_, number) => `m${number}`);

function relaysOf(health: HealthView): (string | undefined)[] {
  return meetings.map((meeting) => ridOf(placed(health, "live", meeting)));
}

describe("what an instance sees of relays", () => {
  test("is the snapshot itself, the same object, while nothing was seen", () => {
    const { holder, health } = view();
    assert.equal(health.active, holder.active);
    assert.deepEqual(health.local, []);
  });

  test("a relay that said GOAWAY gets no new request, and no other namespace moves [LB-HEALTH-4] [LB-HEALTH-10] [LB-HEALTH-11]", () => {
    const { health } = view();
    const before = relaysOf(health);
    health.note(rid("r2"), "draining");
    const after = relaysOf(health);
    assert.ok(before.includes("r2"));
    for (const [i, relay] of before.entries()) {
      if (relay === "r2") assert.notEqual(after[i], "r2");
      else assert.equal(after[i], relay);
    }
    assert.deepEqual(health.local, [{ rid: rid("r2"), state: "draining", at: now }]);
  });

  test("a lost relay leaves its static route without one [LB-HEALTH-5] [LB-HEALTH-12]", () => {
    const { health } = view();
    health.note(rid("r1"), "unhealthy");
    assertRetry(placed(health, "ops", "console"), "no-eligible-relay");
  });

  test("the worse state wins, whatever came last", () => {
    const { health } = view();
    health.note(rid("r2"), "draining");
    health.note(rid("r2"), "unhealthy");
    health.note(rid("r2"), "draining");
    assert.deepEqual(health.local, [{ rid: rid("r2"), state: "unhealthy", at: now + 1 }]);
    const relay = health.active?.snapshot.relays.find((relay) => toHex(relay.rid) === rid("r2"));
    assert.equal(relay?.health, "unhealthy");
  });

  test("what the agent has as Unhealthy is not made better by a GOAWAY", () => {
    const { holder, health } = view(version(1, { r2: "unhealthy" }));
    health.note(rid("r2"), "draining");
    assert.equal(health.active, holder.active);
  });

  test("a Draining relay of the agent is Unhealthy once it is lost [LB-HEALTH-5]", () => {
    const { health } = view(version(1, { r2: "draining" }));
    health.note(rid("r2"), "unhealthy");
    const relay = health.active?.snapshot.relays.find((relay) => toHex(relay.rid) === rid("r2"));
    assert.equal(relay?.health, "unhealthy");
  });

  test("stays until a version above the one of the event, which ends it whatever it says [LB-HEALTH-6] [LB-A4] [LB-S43]", () => {
    const { holder, health } = view(version(4));
    const before = relaysOf(health);
    health.note(rid("r2"), "unhealthy");
    // The same version once more, as after a restart of the store, is no newer state.
    holder.active = version(4);
    assert.ok(!relaysOf(health).includes("r2"));
    assert.equal(health.local.length, 1);
    holder.active = version(5);
    assert.deepEqual(health.local, []);
    assert.equal(health.active, holder.active);
    assert.deepEqual(relaysOf(health), before);
  });

  test("an event after that counts anew [LB-HEALTH-6]", () => {
    const { holder, health } = view(version(1));
    health.note(rid("r2"), "draining");
    holder.active = version(2);
    health.note(rid("r2"), "draining");
    assert.deepEqual(health.local, [{ rid: rid("r2"), state: "draining", at: now + 1 }]);
  });

  test("age and digest stay those of the snapshot in force [LB-S47]", () => {
    const { holder, health } = view();
    health.note(rid("r2"), "draining");
    const { snapshot, ...facts } = health.active as ActiveSnapshot;
    const { snapshot: _, ...expected } = holder.active as ActiveSnapshot;
    assert.deepEqual(facts, expected);
    assert.equal(snapshot.version, 1);
    assert.equal(snapshot.routes, holder.active?.snapshot.routes);
  });

  test("keeps one table from request to request, until something changes", () => {
    const { health } = view();
    health.note(rid("r2"), "draining");
    const { active } = health;
    assert.equal(health.active, active);
    health.note(rid("r2"), "draining");
    assert.equal(health.active, active);
    health.note(rid("r3"), "draining");
    assert.notEqual(health.active, active);
  });

  test("nothing is noted of relays that the pool does not have, nor before a snapshot [LB-S121]", () => {
    const { health } = view();
    health.note(rid("r9"), "unhealthy");
    assert.deepEqual(health.local, []);
    const holder: { active: ActiveSnapshot | undefined } = { active: undefined };
    const empty = createHealthView(holder, () => now);
    empty.note(rid("r1"), "unhealthy");
    assert.equal(empty.active, undefined);
    holder.active = version(1);
    assert.deepEqual(empty.local, []);
  });

  test("tells of each change once, and of nothing after it is taken back [LB-HEALTH-9]", () => {
    const { health } = view();
    const heard: LocalHealth[] = [];
    const stop = health.onChange((change) => heard.push(change));
    health.onChange(() => {
      throw new Error("a listener that fails");
    });
    health.note(rid("r2"), "draining");
    health.note(rid("r2"), "draining");
    health.note(rid("r2"), "unhealthy");
    assert.deepEqual(
      heard.map(({ state }) => state),
      ["draining", "unhealthy"],
    );
    stop();
    health.note(rid("r3"), "draining");
    assert.equal(heard.length, 2);
  });

  test("two instances differ until both have the next version, then agree [LB-HEALTH-8]", () => {
    const { holder: first, health: saw } = view();
    const { holder: second, health: sawNothing } = view();
    saw.note(rid("r2"), "draining");
    assert.notDeepEqual(relaysOf(saw), relaysOf(sawNothing));
    first.active = version(2, { r2: "draining" });
    second.active = first.active;
    assert.deepEqual(relaysOf(saw), relaysOf(sawNothing));
  });

  test("takes over the routes of the snapshot, however many, and selects by them as it would [LB-HEALTH-10]", () => {
    const relays = ["r1", "r2", "r3"].map((name) => ({
      rid: name,
      uri: `https://${name}.example/moq`,
      health: "healthy",
    }));
    const routes = meetings.map((meeting) => pinned("r1", meeting));
    const spread = [...routes, hashed([])];
    const base = activate(parseSnapshot({ version: 1, relays, routes: spread }));
    const { health } = view(base);
    routingTable(base.snapshot);
    health.note(rid("r1"), "draining");
    const told = relays.map((relay) =>
      relay.rid === "r1" ? { ...relay, health: "draining" } : relay,
    );
    const same = activate(parseSnapshot({ version: 1, relays: told, routes: spread }));
    for (const meeting of [...meetings, "elsewhere", "nowhere"]) {
      const namespace = request("SUBSCRIBE", fields(meeting, "x"));
      assert.equal(
        ridOf(placeRequest(namespace, health.active, now)),
        ridOf(placeRequest(namespace, same, now)),
      );
    }
  });
});

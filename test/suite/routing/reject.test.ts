import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { RequestType } from "../../../src/moqt/mod.ts";
import { placeRequest } from "../../../src/routing/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../../src/snapshot/mod.ts";
import { joiningFetch } from "../moqt/support.ts";
import {
  activate,
  assertFinal,
  assertRetry,
  decoded,
  fields,
  meetings,
  now,
  pinned,
  place,
  relayFor,
  request,
  requestTypes,
  ridOf,
  snapshotOf,
} from "./fixtures.ts";

describe("requests without a route", () => {
  const answers: Record<RequestType, string> = {
    SUBSCRIBE: "DOES_NOT_EXIST",
    FETCH: "DOES_NOT_EXIST",
    TRACK_STATUS: "DOES_NOT_EXIST",
    SUBSCRIBE_NAMESPACE: "DOES_NOT_EXIST",
    SUBSCRIBE_TRACKS: "DOES_NOT_EXIST",
    PUBLISH: "UNINTERESTED",
    PUBLISH_NAMESPACE: "UNINTERESTED",
  };

  test("get the code of their type, without retry [LB-REJECT-2] [LB-REJECT-3] [LB-REJECT-4] [LB-S37] [RT-02]", () => {
    const active = activate(snapshotOf([meetings("live")]));
    for (const type of requestTypes) {
      const placed = placeRequest(request(type, fields("other")), active, now);
      assertFinal(placed, answers[type], "no-route");
    }
  });

  test("a SUBSCRIBE for the empty namespace gets DOES_NOT_EXIST [NS-04] [LB-S5]", () => {
    const wire = decoded("0300050000017400");
    const without = activate(snapshotOf([meetings("live")]));
    assertFinal(placeRequest(wire, without, now), "DOES_NOT_EXIST", "no-route");
    assert.ok(ridOf(placeRequest(wire, activate(snapshotOf([pinned("r3")])), now)) === "r3");
  });

  test("a table without routes has none for any request [LB-S14]", () => {
    assertFinal(place(snapshotOf([]), "live"), "DOES_NOT_EXIST", "no-route");
  });
});

describe("reserved namespaces", () => {
  test("`.` gets DOES_NOT_EXIST for every type, routes or not [LB-S3] [NS-14] [LB-A16]", () => {
    for (const active of [activate(snapshotOf([meetings()])), undefined]) {
      for (const type of requestTypes) {
        for (const namespace of [fields("."), fields(".", "x")]) {
          const placed = placeRequest(request(type, namespace), active, now);
          assertFinal(placed, "DOES_NOT_EXIST", "reserved-namespace");
        }
      }
    }
    for (const wire of ["0300070001012e017800", "0600050201012e00"]) {
      const placed = placeRequest(decoded(wire), activate(snapshotOf([meetings()])), now);
      assertFinal(placed, "DOES_NOT_EXIST", "reserved-namespace");
    }
  });

  test("`.session` is never routed either [LB-S4]", () => {
    const active = activate(snapshotOf([meetings(), pinned("r1", ".session")]));
    for (const type of requestTypes) {
      const placed = placeRequest(request(type, fields(".session", "x")), active, now);
      assertFinal(placed, "DOES_NOT_EXIST", "reserved-namespace");
    }
  });

  test("a stale configuration changes nothing about that", () => {
    const active = { ...activate(snapshotOf([meetings()])), maximumAge: 0 };
    const placed = placeRequest(request("PUBLISH", fields(".")), active, now);
    assertFinal(placed, "DOES_NOT_EXIST", "reserved-namespace");
  });

  test("other names that begin with a dot are routed [NS-16] [LB-S4]", () => {
    const wire = decoded("0300100002082e636174616c6f670161017800");
    assert.ok(ridOf(placeRequest(wire, activate(snapshotOf([meetings()])), now)));
    const without = activate(snapshotOf([meetings("live")]));
    assertFinal(placeRequest(wire, without, now), "DOES_NOT_EXIST", "no-route");
    for (const name of ["..", ".sessions", ".sessio", ".Session"]) {
      assert.equal(relayFor(snapshotOf([pinned("r1")]), name), "r1");
    }
    assert.equal(relayFor(snapshotOf([pinned("r1")]), "live", "."), "r1");
  });
});

describe("joining FETCH", () => {
  test("gets INVALID_JOINING_REQUEST_ID, with or without a snapshot [LB-A1] [LB-S1]", () => {
    for (const active of [activate(snapshotOf([meetings()])), undefined]) {
      for (const fetchType of ["RELATIVE_JOINING", "ABSOLUTE_JOINING"] as const) {
        const placed = placeRequest(joiningFetch(fetchType), active, now);
        assertFinal(placed, "INVALID_JOINING_REQUEST_ID", "joining-fetch");
      }
    }
  });
});

describe("configuration age", () => {
  const aged = (active: ActiveSnapshot, age: number) =>
    placeRequest(request("SUBSCRIBE", fields("live", "a")), active, active.signedAt + age);

  test("past the maximum age nothing is placed [LB-CONF-27] [LB-CONF-28] [LB-REJECT-6] [CF-05]", () => {
    const active = activate(snapshotOf([meetings("live"), pinned("r1", "live", "ops")]));
    assert.ok(ridOf(aged(active, active.maximumAge)));
    assertRetry(aged(active, active.maximumAge + 1), "stale-configuration");
    const late = active.signedAt + active.maximumAge + 1000;
    for (const type of requestTypes) {
      for (const namespace of [fields("live", "a"), fields("live", "ops")]) {
        const placed = placeRequest(request(type, namespace), active, late);
        assertRetry(placed, "stale-configuration");
      }
    }
  });

  test("a decision made before is not repeated past the age [LB-CONF-27]", () => {
    const active = activate(snapshotOf([meetings("live")]));
    assert.ok(ridOf(aged(active, 0)));
    assertRetry(aged(active, active.maximumAge + 1), "stale-configuration");
  });

  test("a namespace without a route needs no fresh configuration to be refused [LB-S114]", () => {
    const active = activate(snapshotOf([meetings("live")]));
    const late = active.signedAt + active.maximumAge + 1;
    const subscribe = placeRequest(request("SUBSCRIBE", fields("other")), active, late);
    assertFinal(subscribe, "DOES_NOT_EXIST", "no-route");
    const publish = placeRequest(request("PUBLISH", fields("other")), active, late);
    assertFinal(publish, "UNINTERESTED", "no-route");
  });

  test("age comes before eligibility [LB-A21]", () => {
    const active = activate(snapshotOf([pinned("r1", "live")], { r1: "unhealthy" }));
    assertRetry(aged(active, 0), "no-eligible-relay");
    assertRetry(aged(active, active.maximumAge + 1), "stale-configuration");
  });

  test("before the first snapshot: INTERNAL_ERROR with a retry [LB-S41] [LB-A24]", () => {
    for (const type of requestTypes) {
      const placed = placeRequest(request(type, fields("live")), undefined, now);
      assertRetry(placed, "no-configuration");
    }
  });
});

describe("Retry Interval", () => {
  const interval = (random: () => number, retryAfter?: number): bigint => {
    const options = retryAfter === undefined ? { random } : { random, retryAfter };
    const placed = placeRequest(request("SUBSCRIBE", fields("a")), undefined, now, options);
    assert.ok(placed.kind === "rejection");
    return placed.retryInterval;
  };

  test("is milliseconds plus one, from half to one and a half of the mean [LB-S37]", () => {
    assert.equal(
      interval(() => 0),
      1001n,
    );
    assert.equal(
      interval(() => 0.5),
      2001n,
    );
    assert.equal(
      interval(() => 1),
      3001n,
    );
    assert.equal(
      interval(() => 0.25, 400),
      301n,
    );
  });

  test("is at least 1 whatever the mean [LB-REJECT-5] [LB-REJECT-6]", () => {
    assert.equal(
      interval(() => 0, 0),
      1n,
    );
  });

  test("differs between clients [RT-04] [LB-S37]", () => {
    const drawn = new Set(Array.from({ length: 100 }, () => interval(Math.random)));
    assert.ok(drawn.size > 50);
  });
});

describe("the service's own URIs", () => {
  const relays = (uri: string) => [
    { rid: "r1", uri, health: "healthy" },
    { rid: "r2", uri: "https://r2.example/moq", health: "healthy" },
  ];
  const routes = [pinned("r1", "own"), pinned("r2", "other")];
  const placeWith = (uri: string, ownServiceUris: string[], name = "own") => {
    const snapshot = parseSnapshot({ version: 1, relays: relays(uri), routes });
    return placeRequest(request("SUBSCRIBE", fields(name)), activate(snapshot), now, {
      ownServiceUris,
    });
  };

  test("are never the Connect URI, however spelled [LB-REDIR-18] [LB-S104]", () => {
    for (const own of [
      "moqt://lb.example/moq",
      "moqt://LB.example:443/moq",
      "https://lb.example/moq",
    ]) {
      const placed = placeWith("moqt://lb.example/moq", ["https://x.example/", own]);
      assertRetry(placed, "own-service-uri");
    }
  });

  test("leave other relays alone [LB-REDIR-18]", () => {
    const own = ["moqt://lb.example/moq"];
    assert.equal(ridOf(placeWith("moqt://lb.example/moq", own, "other")), "r2");
    assert.equal(ridOf(placeWith("moqt://lb.example/other", own)), "r1");
    assert.equal(ridOf(placeWith("moqt://lb.example:4433/moq", own)), "r1");
    assert.equal(ridOf(placeWith("moqt://lb.example/moq", [])), "r1");
  });

  test("are looked at for each caller's own list", () => {
    const active = activate(snapshotOf([pinned("r1")]));
    const ask = request("SUBSCRIBE", fields("a"));
    const own = ["https://r1.example/moq"];
    const place = (ownServiceUris: string[]) => placeRequest(ask, active, now, { ownServiceUris });
    assertRetry(place(own), "own-service-uri");
    assert.equal(ridOf(place(["https://lb.example/moq"])), "r1");
    assertRetry(place(own), "own-service-uri");
  });

  test("keep the selection as it is: the request is refused, not sent elsewhere [LB-HASH-1]", () => {
    const active = activate(snapshotOf([meetings()]));
    const ask = request("SUBSCRIBE", fields("example.com", "m1"));
    const ownServiceUris = ["https://r2.example/moq"];
    assertRetry(placeRequest(ask, active, now, { ownServiceUris }), "own-service-uri");
  });
});

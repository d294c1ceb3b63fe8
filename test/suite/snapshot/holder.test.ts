import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  currentKey,
  generateSigningKey,
  isStale,
  lastKnownGoodKey,
  parseSnapshot,
  SnapshotError,
  SnapshotHolder,
  type SnapshotHolderOptions,
  signSnapshot,
  trustSigningKeys,
} from "../../../src/snapshot/mod.ts";
import {
  bench,
  HOUR,
  headerOf,
  jsonWith,
  settle,
  signRaw,
  snapshotOf,
  T0,
  TestStore,
  turn,
  wireOf,
} from "./fixtures.ts";

describe("activation", () => {
  test("takes the first snapshot, and then only higher versions [LB-ROT-1] [LB-S118]", async () => {
    const { holder, envelope, events } = await bench();
    assert.equal(holder.status().version, undefined);
    assert.equal((await holder.offer(await envelope(7))).reason, "activated");
    assert.equal((await holder.offer(await envelope(100))).reason, "activated");
    assert.deepEqual(holder.active?.snapshot, snapshotOf(100));
    assert.deepEqual(
      events
        .filter(({ from }) => from === "offer")
        .map(({ reason, level, version }) => [reason, level, version]),
      [
        ["activated", "info", 7],
        ["activated", "info", 100],
      ],
    );
  });

  test("swaps one reference: what was read before stays whole [LB-ROT-1]", async () => {
    const { holder, envelope, clock } = await bench();
    await holder.offer(await envelope(7));
    const before = holder.active;
    clock.now += 5000;
    const offered = await envelope(8);
    const working = holder.offer(offered);
    assert.equal(holder.active, before);
    await working;
    assert.equal(before?.snapshot.version, 7);
    assert.equal(before?.signedAt, T0);
    assert.equal(holder.active?.snapshot.version, 8);
    assert.equal(holder.active?.signedAt, T0 + 5000);
  });

  test("ends with the highest of many offered at once, in any order [LB-ROT-3]", async () => {
    const { holder, envelope, lastKnownGood } = await bench();
    const envelopes = await Promise.all([3, 9, 1, 7, 9, 2].map((version) => envelope(version)));
    await Promise.all(envelopes.map((bytes) => holder.offer(bytes)));
    assert.equal(holder.active?.snapshot.version, 9);
    assert.deepEqual(lastKnownGood.items.get(lastKnownGoodKey), envelopes[1]);
  });

  test("of a newer snapshot that is past the maximum age happens, and leaves it stale", async () => {
    const { holder, envelope, clock } = await bench();
    const outcome = await holder.offer(await envelope(7, T0 - HOUR - 1000));
    assert.equal(outcome.reason, "activated");
    assert.equal(outcome.activeAge, HOUR + 1000);
    assert.ok(holder.active !== undefined && isStale(holder.active, clock.now));
    assert.ok(holder.status().stale);
  });
});

describe("a refused snapshot changes nothing and is reported with its reason", () => {
  /** Offers `envelope` to a holder with version 7 active; only the outcome may differ after. */
  async function refusal(
    make: (b: Awaited<ReturnType<typeof bench>>) => Uint8Array | Promise<Uint8Array>,
    options?: Partial<SnapshotHolderOptions>,
  ): Promise<string> {
    const b = await bench(options);
    await b.holder.offer(await b.envelope(7));
    const active = b.holder.active;
    const kept = b.lastKnownGood.items.get(lastKnownGoodKey);
    b.clock.now += 1000;
    b.events.length = 0;
    const outcome = await b.holder.offer(await make(b));
    assert.equal(b.holder.active, active);
    assert.equal(b.lastKnownGood.items.get(lastKnownGoodKey), kept);
    assert.equal(b.holder.status().age, 1000);
    assert.equal(outcome.activeVersion, 7);
    assert.deepEqual(b.events, [outcome]);
    // Neither did the floor rise: the next version is still welcome.
    assert.equal((await b.holder.offer(await b.envelope(8))).reason, "activated");
    return `${outcome.reason} (${outcome.level})`;
  }

  test("an older version [LB-ROT-3] [LB-SEC-7] [LB-SEC-8] [CF-01]", async () => {
    assert.equal(await refusal(({ envelope }) => envelope(6)), "older-version (warning)");
  });

  test("a replay of the active version [LB-ROT-3] [LB-SEC-7] [LB-S111] [LB-A3] [CF-01]", async () => {
    assert.equal(await refusal(({ envelope }) => envelope(7, T0)), "unchanged (info)");
  });

  test("the active version signed again, later [LB-S111] [LB-A3] [CF-01]", async () => {
    assert.equal(
      await refusal(({ envelope, clock }) => envelope(7, clock.now)),
      "unchanged (info)",
    );
  });

  test("the active version with other content [LB-S113]", async () => {
    const other = ({ key, clock }: Awaited<ReturnType<typeof bench>>) =>
      signSnapshot(parseSnapshot(jsonWith({ "relays[0].health": "draining" })), key, {
        issuedAt: clock.now,
      });
    assert.equal(await refusal(other), "equal-version-different-content (alarm)");
  });

  test("one signed with a key that is not trusted [LB-SEC-5] [LB-CONF-21]", async () => {
    const stranger = await generateSigningKey();
    const forged = () => signSnapshot(snapshotOf(9), stranger, { issuedAt: T0 });
    assert.equal(await refusal(forged), "untrusted-key (alarm)");
  });

  test("one whose signature is forged [LB-SEC-5] [LB-CONF-21]", async () => {
    const stranger = await generateSigningKey();
    assert.equal(
      await refusal(({ key }) =>
        signSnapshot(snapshotOf(9), { ...stranger, kid: key.kid }, { issuedAt: T0 }),
      ),
      "bad-signature (alarm)",
    );
  });

  test("one with a flipped byte in its payload [LB-CONF-19]", async () => {
    assert.equal(
      await refusal(async ({ envelope }) => {
        const bytes = await envelope(9);
        bytes[bytes.length - 80] = (bytes[bytes.length - 80] as number) ^ 1;
        return bytes;
      }),
      "bad-signature (alarm)",
    );
  });

  test("garbage, and one half written [LB-CONF-21]", async () => {
    assert.equal(await refusal(() => utf8("garbage")), "malformed (warning)");
    assert.equal(await refusal(() => new Uint8Array(0)), "malformed (warning)");
    const half = await refusal(async ({ envelope }) => (await envelope(9)).subarray(0, 200));
    assert.equal(half, "malformed (warning)");
  });

  test("one that breaks a rule, with every problem in the error [LB-CONF-15] [LB-S112] [LB-TABLE-8] [LB-PROFILE-9] [LB-S10] [CF-02]", async () => {
    const faults: Record<string, unknown>[] = [
      { "routes[2].kind": "geo" },
      { "routes[0].profile": "HRW-BLAKE3" },
      { "routes[0].rids[1].weight": 17 },
      { "routes[0].key_fields": 0 },
      { "routes[1].rid": "gone" },
      { "relays[1].rid": "r1", "routes[0].rids": ["r1"] },
      { "relays[0].health": "ok" },
      { "relays[0].uri": "https://r1.example/#" },
      { "routes[2].prefix": ["example.com"] },
      { version: -1 },
      { surplus: 1 },
    ];
    for (const changes of faults) {
      const wire = wireOf({
        ...jsonWith(changes),
        ...("version" in changes ? {} : { version: 8 }),
      });
      const reason = await refusal(({ key }) => signRaw(key, headerOf(key.kid, T0 / 1000), wire));
      assert.equal(reason, "invalid (warning)", JSON.stringify(changes));
    }
    const { holder, key } = await bench();
    const wire = wireOf(jsonWith({ "routes[0].rids[1].weight": 17, "relays[0].health": "ok" }));
    const outcome = await holder.offer(await signRaw(key, headerOf(key.kid, T0 / 1000), wire));
    assert.deepEqual(
      outcome.error?.problems.map(({ path }) => path),
      ["relays[0].health", "routes[0].rids[1].weight"],
    );
  });

  test("one over the size limit", async () => {
    const big = new Uint8Array(10_001);
    assert.equal(await refusal(() => big, { maximumBytes: 10_000 }), "too-large (warning)");
  });

  test("one signed in the future, until its time has come [LB-A2]", async () => {
    assert.equal(
      await refusal(({ envelope, clock }) => envelope(7, clock.now + 60_000)),
      "signed-in-future (warning)",
    );
    const { holder, envelope, clock } = await bench();
    const early = await envelope(7, T0 + 60_000);
    assert.equal((await holder.offer(early)).reason, "signed-in-future");
    clock.now += 60_000;
    assert.equal((await holder.offer(early)).reason, "activated");
  });

  test("one with a relay that is the load balancer itself [LB-S104] [RD-11]", async () => {
    const b = await bench({ ownServiceUris: ["moqt://r1.example/moq"] });
    const outcome = await b.holder.offer(await b.envelope(7));
    assert.equal(outcome.reason, "invalid");
    assert.equal(outcome.error?.problems[0]?.requirement, "LB-S104");
    assert.equal(b.holder.active, undefined);
  });
});

describe("the same content in other bytes", () => {
  test("counts as unchanged [LB-S113]", async () => {
    const b = await bench();
    const json = {
      version: 7,
      relays: [{ rid: "r1", uri: "https://r1.example", health: "healthy" }],
      routes: [{ prefix: [], kind: "hashed", rids: ["r1"] }],
    };
    await b.holder.offer(await signSnapshot(parseSnapshot(json), b.key, { issuedAt: T0 }));
    // Another encoder, which spells out what we leave out.
    const rids = [{ rid: "r1", weight: 1 }];
    const route = { prefix: [], kind: "hashed", profile: "HRW-SHA256", rids };
    const again = wireOf({ ...json, routes: [route] });
    const envelope = await signRaw(b.key, headerOf(b.key.kid, T0 / 1000), again);
    assert.equal((await b.holder.offer(envelope)).reason, "unchanged");
  });

  test("is not verified again where the bytes are the same", async () => {
    let lookUps = 0;
    class CountedKeys extends Map<string, CryptoKey> {
      override get(kid: string): CryptoKey | undefined {
        lookUps++;
        return super.get(kid);
      }
    }
    const { envelope, key, restarted } = await bench();
    const holder = restarted({ trustedKeys: new CountedKeys(trustSigningKeys(key)) });
    const bytes = await envelope(7);
    await holder.offer(bytes);
    assert.equal(lookUps, 1);
    assert.equal((await holder.offer(new Uint8Array(bytes))).reason, "unchanged");
    assert.equal(lookUps, 1);
    await holder.offer(await envelope(8));
    assert.equal(lookUps, 2);
  });

  test("does not follow changes of the bytes that were offered", async () => {
    const b = await bench();
    const bytes = await b.envelope(7);
    const good = new Uint8Array(bytes);
    await b.holder.offer(bytes);
    bytes.fill(0);
    assert.deepEqual(b.holder.active?.snapshot, snapshotOf(7));
    assert.deepEqual(b.lastKnownGood.items.get(lastKnownGoodKey), good);
    assert.equal((await b.holder.offer(bytes)).reason, "malformed");
  });
});

describe("the last-known-good snapshot", () => {
  test("decides after a restart without the source [LB-CONF-23]", async () => {
    const { holder, envelope, source, restarted } = await bench();
    await holder.offer(await envelope(7));
    source.fails = true;
    const next = restarted();
    assert.equal((await next.restore()).reason, "activated");
    assert.deepEqual(next.active?.snapshot, snapshotOf(7));
    assert.equal((await next.refresh()).reason, "store-error");
    assert.deepEqual(next.active?.snapshot, snapshotOf(7));
  });

  test("has the age it would have without the restart [LB-S110] [LB-S109] [LB-A2] [CF-05]", async () => {
    const { holder, envelope, clock, restarted } = await bench();
    await holder.offer(await envelope(7));
    clock.now += HOUR;
    const next = restarted();
    await next.restore();
    assert.equal(next.status().age, HOUR);
    assert.equal(next.status().stale, false);
    clock.now += 1000;
    assert.equal(next.status().stale, true);
  });

  test("sets the floor: lower versions stay refused after a restart [LB-S118] [LB-SEC-8] [CF-01]", async () => {
    const { holder, envelope, source, restarted } = await bench();
    await holder.offer(await envelope(7));
    source.items.set(currentKey, await envelope(6));
    // Nobody called restore: the first look waits for it all the same.
    const next = restarted();
    assert.equal((await next.refresh()).reason, "older-version");
    assert.equal(next.active?.snapshot.version, 7);
    assert.equal((await restarted().offer(await envelope(5))).reason, "older-version");
  });

  test("is verified again: forged or changed in its store, it decides nothing [LB-SEC-5]", async () => {
    const { holder, envelope, lastKnownGood, restarted } = await bench();
    await holder.offer(await envelope(7));
    const kept = lastKnownGood.items.get(lastKnownGoodKey) as Uint8Array;
    const stranger = trustSigningKeys(await generateSigningKey());
    assert.equal((await restarted({ trustedKeys: stranger }).restore()).reason, "untrusted-key");
    for (const bytes of [kept.subarray(0, 100), utf8("garbage"), new Uint8Array(0)]) {
      lastKnownGood.items.set(lastKnownGoodKey, bytes);
      const next = restarted();
      assert.equal((await next.restore()).reason, "malformed");
      assert.equal(next.active, undefined);
      assert.equal((await next.offer(await envelope(3))).reason, "activated");
    }
  });

  test("is missing at first, which is no harm", async () => {
    const { holder } = await bench();
    assert.equal((await holder.restore()).reason, "missing");
    assert.equal(holder.active, undefined);
  });

  test("that cannot be written is reported, does not stop activation, and is tried again", async () => {
    const { holder, envelope, lastKnownGood, events } = await bench();
    await holder.restore();
    lastKnownGood.fails = true;
    const bytes = await envelope(7);
    assert.equal((await holder.offer(bytes)).reason, "activated");
    assert.equal(holder.active?.snapshot.version, 7);
    assert.equal(events.at(-1)?.reason, "not-kept");
    assert.equal(events.at(-1)?.error?.code, "STORE_FAILED");
    lastKnownGood.fails = false;
    assert.equal((await holder.offer(bytes)).reason, "unchanged");
    assert.deepEqual(lastKnownGood.items.get(lastKnownGoodKey), bytes);
  });

  test("that cannot be read is reported and read again before the next offer [LB-SEC-8]", async () => {
    const { holder, envelope, lastKnownGood, restarted } = await bench();
    await holder.offer(await envelope(7));
    lastKnownGood.fails = true;
    const next = restarted();
    assert.equal((await next.restore()).reason, "store-error");
    lastKnownGood.fails = false;
    assert.equal((await next.offer(await envelope(6))).reason, "older-version");
  });

  test("that a clock not set yet takes for the future is restored once the time is known [LB-SEC-8]", async () => {
    const { holder, envelope, clock, restarted } = await bench();
    await holder.offer(await envelope(7));
    const older = await envelope(6);
    clock.now = 0;
    const next = restarted();
    assert.equal((await next.restore()).reason, "signed-in-future");
    clock.now = T0;
    assert.equal((await next.offer(older)).reason, "older-version");
    assert.equal(next.active?.snapshot.version, 7);
  });

  test("is written one after another: a slow write of an older version lands before a newer one's", async () => {
    const { holder, envelope, lastKnownGood } = await bench();
    await holder.restore();
    const decides = async (version: number) => {
      while (holder.active?.snapshot.version !== version) await turn();
    };
    const gates: (() => void)[] = [];
    const { set } = lastKnownGood;
    lastKnownGood.set = async (key, bytes) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return set.call(lastKnownGood, key, bytes);
    };
    const envelopes = [await envelope(7), await envelope(8)] as const;
    const first = holder.offer(envelopes[0]);
    await decides(7);
    const second = holder.offer(envelopes[1]);
    await decides(8);
    await settle();
    // The second write has not begun: its turn comes after the first.
    assert.equal(gates.length, 1);
    gates[0]?.();
    await first;
    await settle();
    assert.equal(gates.length, 2);
    gates[1]?.();
    await second;
    assert.deepEqual(lastKnownGood.items.get(lastKnownGoodKey), envelopes[1]);
  });

  test("is written once per activation", async () => {
    const { holder, envelope, lastKnownGood, restarted } = await bench();
    const bytes = await envelope(7);
    await holder.offer(bytes);
    await holder.offer(bytes);
    await restarted().offer(bytes);
    assert.deepEqual(lastKnownGood.written, [lastKnownGoodKey]);
  });
});

describe("looking into the source", () => {
  test("activates what is current there", async () => {
    const { holder, source, envelope } = await bench();
    source.items.set(currentKey, await envelope(7));
    const outcome = await holder.refresh();
    assert.equal(outcome.reason, "activated");
    assert.equal(outcome.from, "store");
    assert.equal((await holder.refresh()).reason, "unchanged");
  });

  test("asks for no more bytes than an envelope may have, and hears of a larger item", async () => {
    const { holder, source, lastKnownGood, envelope } = await bench({ maximumBytes: 5000 });
    source.items.set(currentKey, await envelope(7));
    await holder.refresh();
    assert.deepEqual([source.maximumBytes, lastKnownGood.maximumBytes], [5000, 5000]);
    source.get = async () => {
      throw new SnapshotError("ENVELOPE_TOO_LARGE", "the envelope has 5001 bytes");
    };
    const outcome = await holder.refresh();
    assert.deepEqual([outcome.reason, outcome.level], ["too-large", "warning"]);
    assert.equal(outcome.error?.code, "ENVELOPE_TOO_LARGE");
    assert.equal(holder.active?.snapshot.version, 7);
  });

  test("never rejects: a missing entry or a failing store leaves things as they are", async () => {
    const { holder, source, envelope } = await bench();
    assert.equal((await holder.refresh()).reason, "missing");
    source.items.set(currentKey, await envelope(7));
    await holder.refresh();
    source.fails = true;
    const outcome = await holder.refresh();
    assert.equal(outcome.reason, "store-error");
    assert.equal(outcome.error?.code, "STORE_FAILED");
    assert.equal(holder.active?.snapshot.version, 7);
    source.get = () => {
      throw new Error("not even a promise");
    };
    assert.equal((await holder.refresh()).reason, "store-error");
  });

  test("is shared by calls at the same time", async () => {
    const { holder, source, envelope } = await bench();
    await holder.restore();
    source.items.set(currentKey, await envelope(7));
    const looks = [holder.refresh(), holder.refresh(), holder.refresh()];
    const outcomes = await Promise.all(looks);
    assert.equal(source.reads, 1);
    assert.equal(new Set(outcomes).size, 1);
    await holder.refresh();
    assert.equal(source.reads, 2);
  });

  test("gives up on a store that does not answer, and ignores its late answer", async () => {
    const { holder, source, envelope, timers } = await bench({ storeTimeout: 777 });
    await holder.restore();
    let open = () => {};
    source.gate = new Promise((resolve) => {
      open = resolve;
    });
    source.items.set(currentKey, await envelope(7));
    const look = holder.refresh();
    await settle();
    assert.deepEqual(timers.delays, [777]);
    timers.fire();
    const outcome = await look;
    assert.equal(outcome.reason, "store-error");
    assert.equal(outcome.error?.code, "STORE_TIMEOUT");
    open();
    await settle();
    assert.equal(holder.active, undefined);
    assert.equal((await holder.refresh()).reason, "activated");
  });

  test("leaves no timer behind", async () => {
    const { holder, timers } = await bench();
    await holder.refresh();
    assert.deepEqual(timers.delays, []);
  });
});

describe("looking in the background", () => {
  test("goes on at the interval, a tenth more or less", async () => {
    const { source, envelope, restarted, timers } = await bench({ refreshInterval: 1000 });
    source.items.set(currentKey, await envelope(7));
    let chance = 0;
    const holder = restarted({ random: () => chance });
    assert.equal((await holder.start()).reason, "activated");
    assert.deepEqual(timers.delays, [900]);
    chance = 0.999999;
    timers.fire();
    await holder.refresh();
    assert.equal(source.reads, 2);
    assert.equal(Math.round(timers.delays[0] as number), 1100);
    holder.stop();
    assert.deepEqual(timers.delays, []);
  });

  test("backs off on failure with jitter, and returns to the interval on success", async () => {
    const { holder, source, envelope, timers } = await bench({ refreshInterval: 1000 });
    source.fails = true;
    assert.equal((await holder.start()).reason, "store-error");
    const delays: number[] = [];
    for (let i = 0; i < 5; i++) {
      delays.push(timers.delays[0] as number);
      timers.fire();
      await holder.refresh();
    }
    // Random is 0.5: three quarters of 2, 4, 8 intervals and no more than that.
    assert.deepEqual(delays, [1500, 3000, 6000, 6000, 6000]);
    assert.equal(holder.status().failures, 6);
    source.fails = false;
    source.items.set(currentKey, await envelope(7));
    timers.fire();
    await holder.refresh();
    assert.equal(holder.active?.snapshot.version, 7);
    assert.deepEqual(timers.delays, [1000]);
    assert.equal(holder.status().failures, 0);
    holder.stop();
  });

  test("never waits longer than a quarter of the maximum age", async () => {
    const { holder, source, timers } = await bench({ refreshInterval: 1000, maximumAge: 8000 });
    source.fails = true;
    await holder.start();
    for (let i = 0; i < 4; i++) {
      assert.ok((timers.delays[0] as number) <= 2000);
      timers.fire();
      await holder.refresh();
    }
    holder.stop();
  });

  test("keeps deciding while a look takes its time [LB-CONF-23]", async () => {
    const { holder, source, envelope, timers } = await bench({ refreshInterval: 1000 });
    source.items.set(currentKey, await envelope(7));
    await holder.start();
    source.gate = new Promise(() => {});
    timers.fire();
    await settle();
    assert.equal(holder.active?.snapshot.version, 7);
    holder.stop();
  });

  test("starts once, and stops for good", async () => {
    const { holder, source, envelope, timers } = await bench({ refreshInterval: 1000 });
    source.items.set(currentKey, await envelope(7));
    await Promise.all([holder.start(), holder.start()]);
    assert.equal(timers.delays.length, 1);
    const look = holder.start();
    holder.stop();
    await look;
    await settle();
    assert.deepEqual(timers.delays, []);
    // Stopped during a look, and started again: one schedule, not two.
    holder.start();
    holder.stop();
    await holder.start();
    assert.equal(timers.delays.length, 1);
    holder.stop();
  });

  test("goes by a tenth of the maximum age, ten seconds at most, unless told otherwise", async () => {
    for (const [maximumAge, interval] of [
      [30_000, 3000],
      [HOUR, 10_000],
    ] as const) {
      const { holder, source, envelope, timers } = await bench({ maximumAge });
      source.items.set(currentKey, await envelope(7));
      await holder.start();
      assert.deepEqual(timers.delays, [interval]);
      holder.stop();
    }
  });
});

describe("reports", () => {
  test("tell version and age of what decides", async () => {
    const { holder, envelope, clock } = await bench();
    assert.deepEqual(holder.status(), { stale: true, failures: 0 });
    const outcome = await holder.offer(await envelope(7));
    clock.now += 1500;
    const { version, age, stale, signedAt, digest, lastOutcome } = holder.status();
    assert.deepEqual(
      { version, age, stale, signedAt },
      { version: 7, age: 1500, stale: false, signedAt: T0 },
    );
    assert.match(digest ?? "", /^[0-9a-f]{64}$/);
    assert.equal(lastOutcome, outcome);
  });

  test("tell whole milliseconds, whatever the clock counts in", async () => {
    const { holder, envelope, clock, events } = await bench();
    clock.now += 0.25;
    await holder.offer(await envelope(7, T0));
    clock.now += 1999.5;
    const outcome = await holder.offer(await envelope(6, T0));
    assert.deepEqual([outcome.at, outcome.activeAge], [T0 + 2000, 2000]);
    assert.deepEqual(events.at(-1), outcome);
    assert.equal(holder.status().age, 2000);
  });

  test("go to a listener whose failures are its own", async () => {
    for (const onEvent of [
      () => {
        throw new Error("listener");
      },
      () => Promise.reject(new Error("listener")),
    ]) {
      const { holder, envelope } = await bench({ onEvent });
      assert.equal((await holder.offer(await envelope(7))).reason, "activated");
    }
    await settle();
  });
});

describe("the configuration of a holder", () => {
  const trustedKeys = async () => trustSigningKeys(await generateSigningKey());

  function startCode(options: Partial<SnapshotHolderOptions>): string {
    try {
      new SnapshotHolder({ source: new TestStore(), ...options } as SnapshotHolderOptions);
      return "none";
    } catch (error) {
      assert.ok(error instanceof SnapshotError, String(error));
      assert.ok(!error.message.includes("\n"));
      return error.code;
    }
  }

  test("defines a maximum age, or nothing starts [LB-CONF-26]", async () => {
    const keys = await trustedKeys();
    assert.equal(startCode({ trustedKeys: keys }), "MISSING_MAXIMUM_AGE");
    assert.equal(startCode({ trustedKeys: keys, maximumAge: HOUR }), "none");
    for (const maximumAge of [
      0,
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      "1h" as unknown as number,
    ]) {
      assert.equal(startCode({ trustedKeys: keys, maximumAge }), "INVALID_CONFIGURATION");
    }
  });

  test("has trusted keys, sound numbers, URIs of its own that are URIs and a store to write to", async () => {
    const keys = await trustedKeys();
    const readOnly = { get: async () => undefined };
    const wrong: Partial<SnapshotHolderOptions>[] = [
      { trustedKeys: new Map() },
      { refreshInterval: 0 },
      { storeTimeout: -1 },
      { maximumBytes: Number.NaN },
      { maximumSkew: -1 },
      { ownServiceUris: ["https://lb.example/moq", "lb.example"] },
      { lastKnownGood: readOnly },
    ];
    for (const options of wrong) {
      const all = { trustedKeys: keys, maximumAge: HOUR, ...options };
      assert.equal(startCode(all), "INVALID_CONFIGURATION", Object.keys(options).join());
    }
  });

  test("is checked for callers without types too", async () => {
    const keys = await trustedKeys();
    const wrong: object[] = [
      { source: undefined },
      { source: null },
      { source: {} },
      { source: { getItem() {} } },
      { lastKnownGood: {} },
      { lastKnownGood: { set() {} } },
      { lastKnownGood: { get() {}, set: "yes" } },
      { trustedKeys: undefined },
      { trustedKeys: [] },
      { trustedKeys: { keys: [] } },
      { ownServiceUris: "https://lb.example/moq" },
      { ownServiceUris: [5] },
      { now: 5 },
      { random: "x" },
      { onEvent: {} },
      { timers: {} },
      { timers: { setTimeout() {} } },
      { maximumBytes: "16 MiB" },
      { maximumSkew: "30" },
    ];
    for (const options of wrong) {
      const all = { trustedKeys: keys, maximumAge: HOUR, ...options };
      const code = startCode(all as Partial<SnapshotHolderOptions>);
      assert.equal(code, "INVALID_CONFIGURATION", JSON.stringify(options));
    }
    for (const options of [undefined, null, "options"] as unknown as SnapshotHolderOptions[]) {
      assert.throws(
        () => new SnapshotHolder(options),
        (error) => error instanceof SnapshotError && error.code === "INVALID_CONFIGURATION",
      );
    }
  });
});

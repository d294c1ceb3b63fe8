import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  enforceRestrictions,
  FleetRestrictions,
  type RestrictionScope,
  Restrictions,
  restrictionScope,
  SharedRecords,
  stripRequest,
  stripResponse,
  tagRequest,
} from "../../../src/client-group/mod.ts";
import {
  encodeRecord,
  type RestrictionRecord,
  restrictionId,
} from "../../../src/client-group/restriction-record.ts";

const url = "https://api.example/a?b=c";

describe("requests of fetch", () => {
  test("lose Client-Group however it is written, and nothing else [F01, F04, CG-FIELD-15, CG-SEC-4]", async () => {
    const request = new Request(url, {
      method: "PUT",
      headers: [
        ["CLIENT-GROUP", "7"],
        ["client-group", "8"],
        ["client_group", "9"],
        ["x-marker", "a"],
      ],
      body: "content",
    });
    const stripped = stripRequest(request);
    assert.equal(stripped.headers.get("client-group"), null);
    assert.equal(stripped.headers.get("client_group"), "9");
    assert.equal(stripped.headers.get("x-marker"), "a");
    assert.equal(stripped.url, url);
    assert.equal(stripped.method, "PUT");
    assert.equal(await stripped.text(), "content");
    const clean = new Request(url);
    assert.equal(stripRequest(clean), clean);
  });

  test("stay bound to the signal of the client's", () => {
    const controller = new AbortController();
    const headers = { "client-group": "7" };
    const stripped = stripRequest(new Request(url, { headers, signal: controller.signal }));
    controller.abort();
    assert.equal(stripped.signal.aborted, true);
  });

  test("carry one Client-Group of ours where that is agreed, and none where not [CG-PROC-2, CG-PROC-6, CG-FIELD-2, CG-FIELD-4]", () => {
    const forged = () => new Request(url, { headers: { "Client-Group": "7, 8" } });
    const tagged = tagRequest(forged(), { tags: true, identifier: 0 });
    assert.equal(tagged.headers.get("client-group"), "0");
    const untagged = tagRequest(forged(), { tags: false, identifier: 907 });
    assert.equal(untagged.headers.get("client-group"), null);
    assert.throws(() => tagRequest(forged(), { tags: true, identifier: 2 ** 32 }), {
      code: "INVALID_IDENTIFIER",
    });
  });
});

describe("responses of fetch", () => {
  test("lose Client-Group and keep the rest [F03, CG-FIELD-17, CG-FIELD-18]", async () => {
    const headers = new Headers({ "client-group": "907", "x-kept": "a" });
    headers.append("set-cookie", "a=b");
    headers.append("set-cookie", "c=d");
    const stripped = stripResponse(new Response("content", { status: 201, headers }));
    assert.equal(stripped.headers.get("client-group"), null);
    assert.equal(stripped.headers.get("x-kept"), "a");
    assert.deepEqual(stripped.headers.getSetCookie(), ["a=b", "c=d"]);
    assert.equal(stripped.status, 201);
    assert.equal(await stripped.text(), "content");
    const bare = stripResponse(
      new Response(null, { status: 304, headers: { "client-group": "7" } }),
    );
    assert.equal(bare.status, 304);
    const clean = new Response("content");
    assert.equal(stripResponse(clean), clean);
  });
});

const part = { at: 1, process: "p1", keep: 61_000 };
const block = { ...part, until: 61_000 };
const limit = { ...part, until: 61_000, requests: 3 };

describe("restrictions on requests of fetch", () => {
  test("a blocked client gets 429 with the seconds that are left, rounded up [CG-BLOCK-1, CG-BLOCK-2, K01]", async () => {
    const at = (time: number) => enforceRestrictions({ block }, { time, inProgress: 0 });
    const refused = at(1_000);
    assert.equal(refused?.status, 429);
    assert.equal(refused?.headers.get("retry-after"), "60");
    assert.equal(refused?.headers.get("cache-control"), "no-store");
    assert.match((await refused?.text()) ?? "", /"code":"BLOCKED"/);
    assert.equal(at(59_001)?.headers.get("retry-after"), "2");
    assert.equal(at(60_999)?.headers.get("retry-after"), "1");
    assert.equal(at(61_000), undefined);
  });

  test("a limited client gets 429 while as many are in progress as it may have [CG-LIMIT-1, CG-A12]", async () => {
    const with_ = (inProgress: number) =>
      enforceRestrictions({ limit }, { time: 1_000, inProgress });
    assert.equal(with_(2), undefined);
    const refused = with_(3);
    assert.equal(refused?.status, 429);
    assert.equal(refused?.headers.get("retry-after"), "1");
    assert.match((await refused?.text()) ?? "", /"code":"LIMITED"/);
  });

  test("are none where nothing is known, or CLEAR has ended them [CG-CLEAR-1]", () => {
    const now = { time: 1_000, inProgress: 9 };
    assert.equal(enforceRestrictions(undefined, now), undefined);
    assert.equal(enforceRestrictions({}, now), undefined);
    const cleared = { block: { ...block, until: 0 }, limit: { ...limit, until: 0 } };
    assert.equal(enforceRestrictions(cleared, now), undefined);
  });
});

const scope = "scope" as RestrictionScope;

function store(records: readonly RestrictionRecord[]) {
  const items = new Map(
    records.map((record) => [`gateway:restriction:${record.id}`, utf8(encodeRecord(record))]),
  );
  const bed = {
    items,
    asked: [] as string[],
    broken: false,
    /** While it is silent, what each question waits for. */
    silent: undefined as ((answer: () => void) => void) | undefined,
    async get(key: string) {
      bed.asked.push(key);
      if (bed.silent !== undefined) await new Promise<void>(bed.silent);
      if (bed.broken) throw new Error("gone");
      return items.get(key);
    },
  };
  return bed;
}

function reader(records: readonly RestrictionRecord[], maximum = 10) {
  const clock = { now: 0 };
  const errors: unknown[] = [];
  const timers: { readonly callback: () => void; readonly milliseconds: number }[] = [];
  const shared = store(records);
  const found = new SharedRecords({
    store: shared,
    now: () => clock.now,
    freshFor: 1_000,
    answerTime: 250,
    timers: {
      setTimeout: (callback, milliseconds) => timers.push({ callback, milliseconds }),
      clearTimeout: () => {},
    },
    maximum,
    onError: (error) => errors.push(error),
  });
  return { clock, errors, shared, timers, records: found };
}

describe("records of a fleet, read alone", () => {
  const record: RestrictionRecord = { id: restrictionId("alice", scope), block };

  test("are those that gateways write, of this client in this scope alone [CG-SEC-6, E12]", async () => {
    const bed = reader([record]);
    assert.deepEqual(await bed.records.find("alice", scope), record);
    assert.equal(await bed.records.find("bob", scope), undefined);
    assert.equal(await bed.records.find("alice", "other" as RestrictionScope), undefined);
    assert.ok(bed.shared.asked.every((key) => !key.includes("alice")));
  });

  test("are looked up once for requests at a time and in a row, until they may have changed", async () => {
    const bed = reader([record]);
    await Promise.all([bed.records.find("alice", scope), bed.records.find("alice", scope)]);
    bed.clock.now = 999;
    await bed.records.find("alice", scope);
    assert.equal(bed.shared.asked.length, 1);
    bed.clock.now = 1_000;
    bed.shared.items.clear();
    assert.equal(await bed.records.find("alice", scope), undefined);
  });

  test("hold on as they were known while the store fails", async () => {
    const bed = reader([record]);
    await bed.records.find("alice", scope);
    bed.shared.broken = true;
    bed.clock.now = 5_000;
    assert.deepEqual(await bed.records.find("alice", scope), record);
    assert.equal(await bed.records.find("bob", scope), undefined);
    assert.equal(bed.errors.length, 2);
  });

  test("hold on as they were known while the store is silent, and no request waits for long", async () => {
    const bed = reader([record]);
    await bed.records.find("alice", scope);
    const answers: (() => void)[] = [];
    bed.shared.silent = (answer) => answers.push(answer);
    bed.clock.now = 1_000;
    const waiting = [bed.records.find("alice", scope), bed.records.find("bob", scope)];
    assert.deepEqual(
      bed.timers.slice(1).map(({ milliseconds }) => milliseconds),
      [250, 250],
    );
    for (const { callback } of bed.timers) callback();
    assert.deepEqual(await Promise.all(waiting), [record, undefined]);
    assert.equal(bed.errors.length, 2);
    // Nobody waits for what has just been waited for in vain.
    assert.deepEqual(await bed.records.find("alice", scope), record);
    assert.equal(bed.shared.asked.length, 3);
    // A store that is only slow is heard: the record was removed meanwhile.
    bed.shared.items.clear();
    for (const answer of answers) answer();
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(await bed.records.find("alice", scope), undefined);
    assert.equal(bed.shared.asked.length, 3);
  });

  test("that are not of the client that was asked for, or no records, are none", async () => {
    const bed = reader([record]);
    const bob = `gateway:restriction:${restrictionId("bob", scope)}`;
    bed.shared.items.set(bob, utf8(encodeRecord(record)));
    assert.equal(await bed.records.find("bob", scope), undefined);
    bed.shared.items.set(`gateway:restriction:${record.id}`, utf8("{}"));
    assert.equal(await bed.records.find("alice", scope), undefined);
  });

  test("are remembered in a bounded number", async () => {
    const bed = reader([record], 2);
    for (const client of ["alice", "bob", "carol", "alice"]) await bed.records.find(client, scope);
    assert.equal(bed.shared.asked.length, 4);
    await bed.records.find("carol", scope);
    assert.equal(bed.shared.asked.length, 4);
  });

  test("are what a gateway of the fleet has heard: a BLOCK reaches the edge [CG-ACT-6]", async () => {
    const items = new Map<string, Uint8Array>();
    const shared = {
      get: async (key: string) => items.get(key),
      set: async (key: string, bytes: Uint8Array) => void items.set(key, bytes),
      create: async (key: string, bytes: Uint8Array) => !items.has(key) && !!items.set(key, bytes),
      keys: async (prefix: string) => [...items.keys()].filter((key) => key.startsWith(prefix)),
      remove: async (key: string) => void items.delete(key),
    };
    const time = 1_000_000;
    const restrictions = new Restrictions<{ readonly key: string }>({ now: () => 0 });
    const fleet = new FleetRestrictions<{ readonly key: string }>({
      store: shared,
      process: "gateway-1",
      wallClock: () => time,
      now: () => 0,
      timers: { setTimeout: () => undefined, clearTimeout: () => {} },
      keyOf: ({ key }) => key,
      isShared: () => true,
    });
    await fleet.start(restrictions);
    const at = { scheme: "https", host: "api.example", port: 443 } as const;
    const there = restrictionScope({ ...at, protocol: "h2", validationPolicy: "runtime" });
    const here = restrictionScope({ ...at, protocol: "h3", validationPolicy: "" });
    const edge = new SharedRecords({
      store: shared,
      now: () => 0,
      freshFor: 0,
      answerTime: 250,
      timers: { setTimeout: () => undefined, clearTimeout: () => {} },
      maximum: 10,
      onError: (error) => assert.fail(String(error)),
    });
    const judge = async () =>
      enforceRestrictions(await edge.find("header:alice", here), { time, inProgress: 0 });
    const client = { key: "header:alice" };
    restrictions.block(client, there, 60);
    fleet.block(client, there, 60);
    await fleet.close();
    assert.equal((await judge())?.headers.get("retry-after"), "60");
    assert.equal(await edge.find("header:bob", here), undefined);
  });
});

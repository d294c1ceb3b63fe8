import assert from "node:assert/strict";
import { describe, test } from "#test";
import { SessionRefused } from "../../../../../src/http3/webtransport-refused.ts";
import type { HealthChange } from "../../../../../src/moq-lb/proxy/relays/health-view.ts";
import type { SetupOption } from "../../../../../src/moqt/mod.ts";
import { sessionErrorCodes } from "../../../../../src/moqt/mod.ts";
import { noCommonProtocol, QuicClosed, QuicError } from "../../../../../src/quic/errors.ts";
import { pass, settle } from "../../../../support/settle.ts";
import { assertFails, opened, RelayBed, ridOf, subscribe, uriOf } from "./support.ts";

function value(options: readonly SetupOption[] | undefined, type: SetupOption["type"]) {
  const option = options?.find((option) => option.type === type);
  return option !== undefined && "value" in option ? option.value : undefined;
}

const requester = {
  tenant: "acme",
  authority: "lb.example",
  bearerToken: undefined,
  tokens: [],
};

describe("opening a session to a relay", () => {
  test("nothing is dialled before the first request needs it [LB-PSETUP-5]", async () => {
    const bed = new RelayBed();
    bed.client();
    await pass(bed.clock, 5000, 500);
    assert.equal(bed.dialled.length, 0);
    assert.equal(bed.relays.count, 0);
  });

  test("one session serves all requests for a relay, another relay gets its own [LB-PSETUP-6] [LB-PSETUP-16]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    const first = client.open("r1");
    assert.equal(client.open("r1"), first);
    await opened(first);
    assert.equal(client.open("r1"), first);
    const second = client.open("r2");
    assert.notEqual(second, first);
    await opened(second);
    assert.deepEqual(
      bed.dialled.map(({ uri }) => uri),
      [uriOf("r1"), uriOf("r2")],
    );
    assert.equal(bed.relays.count, 2);
  });

  test("two client sessions never share one [LB-PSETUP-6]", async () => {
    const bed = new RelayBed();
    const first = bed.client().open("r1");
    const second = bed.client().open("r1");
    assert.notEqual(await opened(first), await opened(second));
    assert.equal(bed.dialled.length, 2);
  });

  test("a relay whose URI has changed is dialled anew [LB-A23]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    const before = client.open("r1");
    await opened(before);
    const after = client.backends.open(ridOf("r1"), "moqt://r1.example:5555/moved");
    assert.notEqual(after, before);
    await opened(after);
    assert.equal(bed.dialled.at(-1)?.uri, "moqt://r1.example:5555/moved");
    assert.equal(before.isOver, false);
  });

  test("the version offered is the client's, that one alone [LB-PSETUP-7]", async () => {
    for (const draft of [18, 20, 22] as const) {
      const bed = new RelayBed();
      const session = await opened(bed.client({ draft }).open("r1"));
      assert.equal(bed.dialled[0]?.options.draft, draft);
      assert.equal(session.draft, draft);
    }
  });

  test("path and authority are those of the relay's URI, the name is ours [LB-PSETUP-8] [LB-PSETUP-10]", async () => {
    const bed = new RelayBed();
    await opened(bed.client({ requester }).open("r1"));
    const { setup } = bed.end;
    assert.equal(setup?.path, "/relay?zone=r1");
    assert.equal(setup?.authority, "r1.example:4443");
    assert.equal(setup?.implementation, "balancer");
  });

  test("neither is sent where the CONNECT request has them [LB-S57]", async () => {
    for (const kind of ["webtransport-h3", "webtransport-h2", "qmux"] as const) {
      const bed = new RelayBed();
      bed.answer = { kind };
      const session = await opened(bed.client().open("r1"));
      assert.equal(bed.end.setup?.path, undefined);
      assert.equal(bed.end.setup?.authority, undefined);
      assert.equal(session.isOver, false);
    }
  });

  test("the relay is held to the limits that the client has set, and gets our token cache [LB-PSETUP-7] [LB-PSETUP-9] [LB-PSETUP-4]", async () => {
    const bed = new RelayBed({ tokenCacheSize: 512 });
    const limits = { maxRequestUpdates: 3n, maxFilterRanges: 5n };
    await opened(bed.client({ limits }).open("r1"));
    const { setup } = bed.end;
    assert.equal(setup?.maxRequestUpdates, 3n);
    assert.equal(setup?.maxFilterRanges, 5n);
    assert.equal(setup?.maxAuthTokenCacheSize, 512n);
  });

  test("draft 18 has neither limit in its SETUP", async () => {
    const bed = new RelayBed();
    const limits = { maxRequestUpdates: 3n, maxFilterRanges: 5n };
    await opened(bed.client({ draft: 18, limits }).open("r1"));
    assert.equal(value(bed.end.setup?.options, "MAX_REQUEST_UPDATES"), undefined);
    assert.equal(value(bed.end.setup?.options, "MAX_FILTER_RANGES"), undefined);
  });

  test("SETUP says what is known here and nothing that the client has made up [LB-S59]", async () => {
    const bed = new RelayBed();
    await opened(bed.client().open("r1"));
    const types = bed.end.setup?.options.map(({ type }) => type);
    assert.ok(types);
    assert.deepEqual(
      types.filter((type) => type === "UNKNOWN"),
      [],
    );
  });
});

describe("a session to a relay that does not come about", () => {
  test("a relay that cannot be reached is Unhealthy from then on [LB-S46] [LB-A9] [LB-HEALTH-5]", async () => {
    const bed = new RelayBed();
    bed.answer = { error: new QuicError("CONNECT_FAILED", "moqt://r1.example does not answer") };
    const changes: HealthChange[] = [];
    bed.health.onChange((change) => changes.push(change));
    const client = bed.client();
    await assertFails(client.open("r1"), "BACKEND_UNREACHABLE");
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
    assert.deepEqual(
      changes.map(({ reason }) => reason),
      ["the relay cannot be reached: moqt://r1.example does not answer"],
    );
    // What is reported has no room for it.
    assert.deepEqual(Object.keys(bed.health.local[0] ?? {}), ["rid", "state", "at"]);
    assert.deepEqual(client.ends, []);
    assert.equal(bed.relays.count, 0);
  });

  test("so is one that accepts and says no SETUP in time [LB-S46]", async () => {
    const bed = new RelayBed({ limits: { connectTimeout: 3000 } });
    bed.answer = { setupOptions: "none" };
    const backend = bed.client().open("r1");
    await pass(bed.clock, 2900, 100);
    assert.equal(backend.isOver, false);
    await pass(bed.clock, 200, 100);
    await assertFails(backend, "BACKEND_UNREACHABLE");
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
  });

  test("a dial that hangs is given up, by its signal [LB-S46]", async () => {
    const bed = new RelayBed({ limits: { connectTimeout: 3000 } });
    bed.answer = { silent: true };
    const backend = bed.client().open("r1");
    await pass(bed.clock, 3000, 500);
    await assertFails(backend, "BACKEND_UNREACHABLE");
    assert.equal(bed.dialled[0]?.options.signal.aborted, true);
  });

  test("the next request that selects the relay dials it again", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    bed.answer = { error: new Error("no route") };
    await assertFails(client.open("r1"), "BACKEND_UNREACHABLE");
    bed.answer = {};
    await opened(client.open("r1"));
    assert.equal(bed.dialled.length, 2);
  });

  test("a relay that refuses the version is no less healthy for that [LB-PSETUP-11] [LB-A9]", async () => {
    const { VERSION_NEGOTIATION_FAILED } = sessionErrorCodes;
    const close = {
      by: "remote",
      app: true,
      code: VERSION_NEGOTIATION_FAILED,
      reason: "",
    } as const;
    const causes = [noCommonProtocol(), new QuicClosed(close)];
    for (const cause of causes) {
      const bed = new RelayBed();
      bed.answer = { error: new QuicError("CONNECT_FAILED", "no common protocol", { cause }) };
      await assertFails(bed.client().open("r1"), "BACKEND_MISMATCH");
      assert.deepEqual(bed.states, []);
    }
  });

  test("nor one that answers in another version than was asked for [LB-PSETUP-11]", async () => {
    const bed = new RelayBed();
    bed.answer = { protocol: "moqt-20" };
    await assertFails(bed.client().open("r1"), "BACKEND_MISMATCH");
    assert.deepEqual(bed.states, []);
  });

  test("nor one that closes for the version in place of a SETUP [LB-PSETUP-11]", async () => {
    const bed = new RelayBed();
    bed.answer = { setupOptions: [{ type: "MOQT_IMPLEMENTATION", value: "relay" }] };
    const backend = bed.client().open("r1");
    // The relay closes before its SETUP has arrived.
    const { VERSION_NEGOTIATION_FAILED } = sessionErrorCodes;
    for (let turn = 0; bed.ends.length === 0 && turn < 50; turn++) await Promise.resolve();
    bed.end.transport.close(VERSION_NEGOTIATION_FAILED, "");
    await assertFails(backend, "BACKEND_MISMATCH");
    assert.deepEqual(bed.states, []);
  });

  test("a connection that would change codes on their way is refused [LB-PSETUP-11]", async () => {
    const bed = new RelayBed();
    bed.answer = { exactCodes: false };
    await assertFails(bed.client().open("r1"), "BACKEND_MISMATCH");
    assert.equal((await bed.end.transport.closed).code, 0n);
  });

  test("credentials that a relay refuses take the relay from nobody else", async () => {
    const close = {
      by: "remote",
      app: true,
      code: sessionErrorCodes.UNAUTHORIZED,
      reason: "",
    } as const;
    const errors = [
      new QuicError("CONNECT_FAILED", "refused", { cause: new SessionRefused(401, []) }),
      new QuicError("CONNECT_FAILED", "refused", { cause: new SessionRefused(403, []) }),
      new QuicClosed(close),
    ];
    for (const error of errors) {
      const bed = new RelayBed();
      bed.answer = { error };
      await assertFails(bed.client().open("r1"), "BACKEND_UNAUTHORIZED");
      assert.deepEqual(bed.states, []);
    }
  });

  test("nothing is noted of a relay when the client leaves while it is dialled", async () => {
    const bed = new RelayBed();
    bed.answer = { silent: true };
    const client = bed.client();
    const backend = client.open("r1");
    await settle();
    client.backends.close();
    await assertFails(backend, "BACKEND_UNREACHABLE");
    assert.equal(bed.dialled[0]?.options.signal.aborted, true);
    assert.deepEqual(bed.states, []);
    assert.equal(bed.relays.count, 0);
    assert.equal(bed.clock.pending, 0);
  });
});

describe("bounds on sessions to relays", () => {
  test("one client session has so many, and keeps them at the limit [LB-PSETUP-17] [LB-PSETUP-20]", async () => {
    const bed = new RelayBed({ limits: { maximumBackendsPerSession: 2 } });
    const client = bed.client();
    const first = client.open("r1");
    await opened(first);
    const second = client.open("r2");
    await opened(second);
    await assertFails(client.open("r3"), "BACKEND_LIMIT");
    assert.equal(bed.dialled.length, 2);
    assert.equal(first.isOver || second.isOver, false);
    assert.deepEqual(bed.states, []);
    first.close();
    await opened(client.open("r3"));
  });

  test("all client sessions together have so many [LB-SEC-31]", async () => {
    const bed = new RelayBed({ limits: { maximumBackends: 2 } });
    const first = bed.client();
    await opened(first.open("r1"));
    await opened(bed.client().open("r1"));
    await assertFails(bed.client().open("r1"), "BACKEND_LIMIT");
    assert.equal(bed.dialled.length, 2);
    assert.equal(bed.relays.count, 2);
    first.backends.close();
    assert.equal(bed.relays.count, 1);
    await opened(bed.client().open("r2"));
  });

  test("a session that is over opens none", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    client.backends.close();
    await assertFails(client.open("r1"), "BACKEND_LIMIT");
    assert.equal(bed.dialled.length, 0);
  });

  test("closing the client session ends all of them with NO_ERROR, and tells nothing", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    await subscribe(bed, client.open("r1"));
    const { transport } = bed.end;
    client.backends.close();
    await settle();
    const { by, app, code } = await transport.closed;
    assert.deepEqual({ by, app, code }, { by: "remote", app: true, code: 0n });
    assert.deepEqual(client.ends, []);
    assert.deepEqual(bed.states, []);
    assert.equal(client.backends.backends.size, 0);
  });
});

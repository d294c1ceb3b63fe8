/** One server that serves both modes, each at addresses of its own. */

import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type BackendTokenContext,
  CapabilitiesError,
  clientDigest,
  createSessionServer,
  type DecisionEvent,
  defaultProxyLimits,
  identityTokens,
  poolCapabilities,
  type RedirectSessionEvent,
  type SessionServerOptions,
} from "../../../src/moq-lb/mod.ts";
import {
  type Draft,
  draftName,
  drafts,
  parseName,
  type SessionErrorName,
  type SetupOption,
  sessionErrorCodes,
} from "../../../src/moqt/mod.ts";
import { type IncomingRequest, MoqtSession } from "../../../src/session/mod.ts";
import {
  type ActiveSnapshot,
  generateSigningKey,
  parseSnapshot,
} from "../../../src/snapshot/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { settle } from "../../support/settle.ts";
import { type MemoryTransportOptions, memoryTransportPair } from "../../support/transport-pair.ts";
import { activate, now } from "../routing/fixtures.ts";

type Capabilities = Readonly<Record<string, unknown>>;

const nothing = new Uint8Array(0);
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A snapshot in force that hashes everything over relays with these `attributes.moqt`. */
function pool(relays: Readonly<Record<string, Capabilities>>, version = 1): ActiveSnapshot {
  return activate(
    parseSnapshot({
      version,
      relays: Object.entries(relays).map(([rid, moqt]) => ({
        rid,
        uri: `moqt://${rid}.example/moq`,
        health: "healthy",
        attributes: { moqt },
      })),
      routes: [{ prefix: [], kind: "hashed", key_fields: 1, rids: Object.keys(relays) }],
    }),
  );
}

class Bed {
  readonly clock = new ManualClock();
  readonly holder: { active: ActiveSnapshot | undefined };
  readonly events: RedirectSessionEvent[] = [];
  readonly decisions: DecisionEvent[] = [];
  readonly dialled: string[] = [];
  /** SUBSCRIBEs that relays have. */
  readonly atRelays: IncomingRequest[] = [];
  readonly server: ReturnType<typeof createSessionServer>;

  constructor(
    active: ActiveSnapshot | undefined = pool({ r1: {}, r2: {} }),
    options: Partial<SessionServerOptions> = {},
  ) {
    this.holder = { active };
    this.server = createSessionServer({
      holder: this.holder,
      authorization: "allow-all",
      now: () => now,
      random: () => 0.5,
      clock: this.clock,
      onSession: (event) => this.events.push(event),
      onDecision: (event) => this.decisions.push(event),
      proxy: {
        uris: ["/proxy", "moqt://proxy.example/moqt"],
        backendTokens: "none",
        drainDeadline: 5000,
        dial: (uri, options) => this.dial(uri, options),
      },
      ...options,
    });
  }

  /** A session to a relay that takes every SUBSCRIBE. */
  async dial(uri: string, { draft }: { readonly draft: Draft }): Promise<Transport> {
    this.dialled.push(uri);
    const [near, far] = memoryTransportPair({ protocol: draftName(draft) });
    const relay = new MoqtSession(far, {
      role: "server",
      clock: this.clock,
      onRequest: (request) => {
        this.atRelays.push(request);
        const trackAlias = BigInt(this.atRelays.length);
        const parameters: [] = [];
        request.send({ type: "SUBSCRIBE_OK", trackAlias, parameters, trackProperties: nothing });
      },
    });
    void relay.run();
    return near;
  }

  connect(options: MemoryTransportOptions, setupOptions: readonly SetupOption[] = []): MoqtSession {
    const [near, far] = memoryTransportPair(options);
    void this.server.serve(far);
    const session = new MoqtSession(near, {
      role: "client",
      clock: this.clock,
      setupOptions: [...setupOptions],
    });
    void session.run();
    return session;
  }

  /** A client over raw QUIC, which says what it wants in SETUP. */
  quic(path: string, authority = "lb.example", draft: Draft = 22): MoqtSession {
    return this.connect({ protocol: draftName(draft) }, [
      { type: "PATH", value: path },
      { type: "AUTHORITY", value: authority },
    ]);
  }

  web(path: string, authority = "lb.example", draft: Draft = 22): MoqtSession {
    const request = { path, authority };
    return this.connect({ kind: "webtransport-h3", protocol: draftName(draft), request });
  }
}

/** Name of what a SUBSCRIBE is answered. */
async function subscribe(session: MoqtSession, name = "live--video"): Promise<string> {
  const { trackNamespace, trackName = nothing } = parseName(name);
  const request = session.request({ type: "SUBSCRIBE", trackNamespace, trackName, parameters: [] });
  const answer = await request.answer;
  if (answer?.type !== "REQUEST_ERROR") return answer?.type ?? "none";
  return answer.redirect === undefined ? "REQUEST_ERROR" : "REDIRECT";
}

async function closedWith(session: MoqtSession, code: SessionErrorName): Promise<void> {
  const close = await session.closed;
  assert.equal(close.app, true);
  assert.equal(close.code, sessionErrorCodes[code], close.reason);
}

describe("one server with both modes", () => {
  const carriers = {
    "raw QUIC, by SETUP": (bed: Bed, path: string) => bed.quic(path),
    "WebTransport, by the request": (bed: Bed, path: string) => bed.web(path),
  };
  for (const [carrier, open] of Object.entries(carriers)) {
    test(`answers one SUBSCRIBE with SUBSCRIBE_OK at the one path and with REDIRECT at the other, over ${carrier} [LB-KEY-6]`, async () => {
      const bed = new Bed();
      assert.equal(await subscribe(open(bed, "/proxy")), "SUBSCRIBE_OK");
      assert.equal(await subscribe(open(bed, "/moqt")), "REDIRECT");
      assert.equal(bed.atRelays.length, 1);
      assert.deepEqual(
        bed.decisions.map(({ outcome }) => outcome),
        ["FORWARDED", "REDIRECT"],
      );
    });
  }

  test("tells addresses apart by authority where paths are alike [LB-KEY-6]", async () => {
    const bed = new Bed();
    assert.equal(await subscribe(bed.quic("/moqt", "proxy.example")), "SUBSCRIBE_OK");
    assert.equal(await subscribe(bed.quic("/moqt", "lb.example")), "REDIRECT");
    assert.equal(await subscribe(bed.web("/moqt", "proxy.example")), "SUBSCRIBE_OK");
    assert.equal(await subscribe(bed.connect({})), "REDIRECT");
  });

  test("refuses addresses that are nobody's", async () => {
    const bed = new Bed();
    await closedWith(bed.quic("/other"), "INVALID_PATH");
    await closedWith(bed.web("/other"), "INVALID_PATH");
    assert.equal(bed.server.refusalOf("192.0.2.1:1", { path: "/other" }), "INVALID_PATH");
    assert.equal(bed.server.refusalOf("192.0.2.1:1", { path: "/proxy" }), undefined);
  });

  test("keeps a session in the mode that it began in, whatever is published [LB-KEY-5]", async () => {
    const bed = new Bed();
    const proxied = bed.quic("/proxy");
    const redirected = bed.quic("/moqt");
    for (const version of [2, 3]) {
      assert.equal(await subscribe(proxied, `live${version}--video`), "SUBSCRIBE_OK");
      assert.equal(await subscribe(redirected, `live${version}--video`), "REDIRECT");
      bed.holder.active = pool({ r1: {}, r2: {} }, version);
      bed.server.activated();
    }
    assert.equal(await subscribe(proxied, "more--video"), "SUBSCRIBE_OK");
    assert.equal(await subscribe(redirected, "more--video"), "REDIRECT");
  });

  test("says in the end of a session what it was, and counts what it came to", async () => {
    const bed = new Bed();
    const session = bed.quic("/proxy");
    await subscribe(session);
    session.close();
    await settle();
    const closed = bed.events.find(({ type }) => type === "closed");
    assert.ok(closed?.type === "closed");
    const { mode, forwarded, redirects, rejections } = closed;
    assert.deepEqual(
      { mode, forwarded, redirects, rejections },
      { mode: "proxy", forwarded: 1, redirects: 0, rejections: 0 },
    );
  });
});

describe("what proxy mode offers clients", () => {
  test("is what each relay of the pool speaks, at its own address alone [LB-PSETUP-2] [PX-08]", () => {
    const bed = new Bed(pool({ r1: { drafts: [20] }, r2: { drafts: [18, 20] } }));
    assert.deepEqual(bed.server.draftsAt({ path: "/proxy" }), [20]);
    assert.deepEqual(bed.server.draftsAt({ path: "/moqt" }), drafts);
    assert.deepEqual(bed.server.draftsAt({ path: "/other" }), []);
  });

  test("is refused in another draft, and in that one served [LB-PSETUP-2] [PX-08]", async () => {
    const bed = new Bed(pool({ r1: { drafts: [20] }, r2: { drafts: [18, 20] } }));
    await closedWith(bed.quic("/proxy", "lb.example", 22), "VERSION_NEGOTIATION_FAILED");
    await closedWith(bed.web("/proxy", "lb.example", 18), "VERSION_NEGOTIATION_FAILED");
    assert.equal(await subscribe(bed.quic("/proxy", "lb.example", 20)), "SUBSCRIBE_OK");
    assert.equal(await subscribe(bed.quic("/moqt", "lb.example", 22)), "REDIRECT");
  });

  test("is nothing for a pool without a common draft, until there is another pool [LB-PSETUP-3]", async () => {
    const bed = new Bed(pool({ r1: { drafts: [18] }, r2: { drafts: [22] } }));
    assert.throws(() => bed.server.capabilities(), { code: "NO_COMMON_DRAFT" });
    assert.deepEqual(bed.server.draftsAt({ path: "/proxy" }), []);
    await closedWith(bed.quic("/proxy"), "VERSION_NEGOTIATION_FAILED");
    assert.equal(await subscribe(bed.quic("/moqt")), "REDIRECT");
    bed.holder.active = pool({ r1: {}, r2: { drafts: [22] } }, 2);
    assert.equal(await subscribe(bed.quic("/proxy")), "SUBSCRIBE_OK");
  });

  test("promises no more updates and filter ranges than each relay keeps [LB-PSETUP-4] [LB-S55]", async () => {
    const bed = new Bed(
      pool({
        r1: { max_request_updates: 4, max_filter_ranges: 8 },
        r2: { max_request_updates: 8, max_filter_ranges: 2 },
      }),
    );
    for (const session of [bed.quic("/proxy"), bed.web("/proxy")]) {
      const setup = await session.setup;
      assert.equal(setup?.maxRequestUpdates, 4n);
      assert.equal(setup?.maxFilterRanges, 2n);
    }
    // Redirect mode has no such limits to speak of, where it is known to be meant.
    const setup = await bed.web("/moqt").setup;
    assert.equal(setup?.maxRequestUpdates, 0n);
  });

  test("has no session to a relay before the first request [LB-PSETUP-5]", async () => {
    const bed = new Bed();
    const session = bed.quic("/proxy");
    await session.setup;
    bed.clock.advance(5000);
    await settle();
    assert.deepEqual(bed.dialled, []);
    await subscribe(session);
    assert.equal(bed.dialled.length, 1);
  });
});

describe("a balancer in proxy mode that ends", () => {
  test("asks its clients to leave, and closes those that do not, with what they have open [GA-10]", async () => {
    const bed = new Bed();
    const busy = bed.quic("/proxy");
    const goaways: { newSessionUri: string; timeout: bigint }[] = [];
    const [near, far] = memoryTransportPair({});
    void bed.server.serve(far);
    const idle = new MoqtSession(near, {
      role: "client",
      clock: bed.clock,
      setupOptions: [
        { type: "PATH", value: "/proxy" },
        { type: "AUTHORITY", value: "lb.example" },
      ],
      onGoaway: (goaway) => {
        goaways.push(goaway);
        idle.close();
      },
    });
    void idle.run();
    await idle.setup;
    assert.equal(await subscribe(busy), "SUBSCRIBE_OK");
    const drained = bed.server.drain(1000);
    await settle();
    assert.deepEqual(
      goaways.map(({ newSessionUri, timeout }) => [newSessionUri, timeout]),
      [["", 1000n]],
    );
    assert.equal(bed.server.status().sessions, 1);
    bed.clock.advance(1000);
    await drained;
    await closedWith(busy, "GOAWAY_TIMEOUT");
    assert.equal(bed.server.status().proxy.backends, 0);
  });
});

describe("limits of proxy mode", () => {
  test("are each listed, with their use [LB-SEC-32]", async () => {
    const bed = new Bed();
    const session = bed.quic("/proxy");
    await subscribe(session);
    await settle();
    const { proxy } = bed.server.status();
    const { limits } = proxy;
    assert.deepEqual(limits.maximumMappings, { limit: 1000, inUse: 1, exceeded: 0 });
    assert.deepEqual(limits.maximumBackends, { limit: 10_000, inUse: 1 });
    assert.deepEqual(limits.maximumBackendsPerSession, { limit: 16, inUse: 1 });
    assert.deepEqual(limits.drainDeadline, { limit: 5000 });
    const names = ["maximumAffinities", "maximumHeld", "holdTime", "connectTimeout"];
    for (const name of [...names, "backendIdleTimeout"]) {
      assert.equal(typeof limits[name]?.limit, "number", name);
    }
    assert.deepEqual([proxy.sessions, proxy.mappings, proxy.backends], [1, 1, 1]);
    session.close();
    await settle();
    const after = bed.server.status().proxy;
    assert.deepEqual([after.sessions, after.mappings, after.backends], [0, 0, 0]);
  });

  test("turn away what comes above them before anything is done for it [LB-SEC-31] [LB-SEC-33]", async () => {
    const base = new Bed();
    const bed = new Bed(pool({ r1: {} }), {
      proxy: {
        uris: ["/proxy"],
        backendTokens: "none",
        drainDeadline: 5000,
        limits: { maximumMappings: 1 },
        dial: async (uri, options) => {
          bed.dialled.push(uri);
          return await base.dial(uri, options);
        },
      },
    });
    const session = bed.quic("/proxy");
    assert.equal(await subscribe(session, "live--a"), "SUBSCRIBE_OK");
    assert.equal(await subscribe(session, "live--b"), "REQUEST_ERROR");
    assert.deepEqual(bed.dialled, ["moqt://r1.example/moq"]);
    assert.deepEqual(bed.server.status().proxy.limits.maximumMappings, {
      limit: 1,
      inUse: 1,
      exceeded: 1,
    });
  });
});

describe("a program that embeds the balancer", () => {
  const proxyWith = (
    bed: () => Bed,
    backendTokens: SessionServerOptions["proxy"]["backendTokens"],
  ) => ({
    uris: ["/proxy"],
    backendTokens,
    drainDeadline: 5000,
    dial: (uri: string, options: { readonly draft: Draft }) => bed().dial(uri, options),
  });

  test("has relays shown what its own hook gives [LB-SEC-14]", async () => {
    const asked: BackendTokenContext[] = [];
    const delegate = (context: BackendTokenContext) => {
      asked.push(context);
      return { tokenType: 9n, tokenValue: utf8(`for ${context.request?.type ?? "all"}`) };
    };
    const bed: Bed = new Bed(undefined, { proxy: proxyWith(() => bed, { delegate }) });
    assert.equal(await subscribe(bed.web("/proxy")), "SUBSCRIBE_OK");
    assert.deepEqual(
      asked.map(({ uri, authority, request }) => [uri, authority, request?.type]),
      [undefined, "SUBSCRIBE"].map((type) => [bed.dialled[0], "lb.example", type]),
    );
    assert.deepEqual(
      bed.atRelays[0]?.tokens.map(({ tokenType, tokenValue }) => [tokenType, text(tokenValue)]),
      [[9n, "for SUBSCRIBE"]],
    );
  });

  test("has clients told to relays under its own name [LB-SEC-14] [LB-SEC-16]", async () => {
    const key = await generateSigningKey("lb-1");
    const tokens = identityTokens({ key, issuer: "https://lb.example", now: () => now });
    const bed: Bed = new Bed(undefined, { proxy: proxyWith(() => bed, tokens) });
    assert.equal(await subscribe(bed.web("/proxy")), "SUBSCRIBE_OK");
    const [shown] = bed.atRelays[0]?.tokens ?? [];
    const { sub } = decodeJwt(text(shown?.tokenValue ?? nothing));
    assert.equal(sub, await clientDigest(undefined, "lb.example"));
  });

  test("knows what a pool can be promised, and the limits that count unless it says others [LB-PSETUP-2] [LB-PSETUP-3]", () => {
    const { snapshot } = pool({ r1: { drafts: [20, 22] }, r2: { drafts: [18, 20] } });
    assert.deepEqual(poolCapabilities(snapshot).drafts, [20]);
    const apart = pool({ r1: { drafts: [22] }, r2: { drafts: [18] } });
    assert.throws(() => poolCapabilities(apart.snapshot), CapabilitiesError);
    const { limits } = new Bed().server.status().proxy;
    assert.equal(limits.maximumBackends?.limit, defaultProxyLimits.maximumBackends);
  });
});

describe("options of proxy mode", () => {
  const complete = new Bed();
  const proxy = { uris: ["/proxy"], backendTokens: "none" as const, drainDeadline: 1 };
  const dial = () => Promise.reject(new Error("not here"));
  const wrong: Readonly<Record<string, [object, RegExp]>> = {
    "no policy for what relays are shown [LB-SEC-14]": [
      { ...proxy, dial, backendTokens: undefined },
      /proxy\.backendTokens has to be one of "forward", "none"/,
    ],
    "a policy that is none": [{ ...proxy, dial, backendTokens: {} }, /backendTokens/],
    "no way to relays": [proxy, /proxy\.dial is missing/],
    "no Drain Deadline [LB-DISPL-3]": [
      { ...proxy, dial, drainDeadline: undefined },
      /proxy\.drainDeadline has to be an integer/,
    ],
    "a limit of nothing": [
      { ...proxy, dial, limits: { maximumBackends: 0 } },
      /proxy\.limits\.maximumBackends/,
    ],
    "no address": [{ ...proxy, dial, uris: [] }, /proxy\.uris is empty/],
    "an address that is none": [{ ...proxy, dial, uris: ["proxy"] }, /proxy\.uris has to hold/],
  };
  for (const [what, [given, message]] of Object.entries(wrong)) {
    test(`are refused in one line: ${what}`, () => {
      const options = { holder: complete.holder, authorization: "allow-all", proxy: given };
      assert.throws(() => createSessionServer(options as SessionServerOptions), {
        code: "INVALID_CONFIGURATION",
        message,
      });
    });
  }
});

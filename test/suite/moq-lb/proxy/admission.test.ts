import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../../src/bytes.ts";
import type { AuthorizationRequest } from "../../../../src/moq-lb/authorization.ts";
import {
  drafts,
  type MessageParameter,
  type NewRequest,
  type RequestType,
  requestErrorCodes,
  requestTypes,
} from "../../../../src/moqt/mod.ts";
import { grantOf, ProxyBed, requestFor, requestOk, settle, twoRoutes } from "./bed.ts";

/** A policy that remembers what it was asked, and grants what `grants` says. */
function policy(grants: (request: AuthorizationRequest) => boolean | Promise<boolean>) {
  const asked: AuthorizationRequest[] = [];
  const authorize = (request: AuthorizationRequest) => {
    asked.push(request);
    return grants(request);
  };
  return { asked, admission: { authorization: { name: "test", authorize } } };
}

const byValue = (text: string): MessageParameter => ({
  type: "AUTHORIZATION_TOKEN",
  token: { aliasType: "USE_VALUE", tokenType: 1n, tokenValue: utf8(text) },
});
const register = (alias: bigint, text: string): MessageParameter => ({
  type: "AUTHORIZATION_TOKEN",
  token: { aliasType: "REGISTER", alias, tokenType: 1n, tokenValue: utf8(text) },
});
const useAlias = (alias: bigint): MessageParameter => ({
  type: "AUTHORIZATION_TOKEN",
  token: { aliasType: "USE_ALIAS", alias },
});
const withParameters = (details: NewRequest, ...parameters: MessageParameter[]): NewRequest => ({
  ...details,
  parameters,
});
const texts = (tokens: readonly { readonly tokenValue: Uint8Array }[]) =>
  tokens.map(({ tokenValue }) => new TextDecoder().decode(tokenValue));

describe("who may ask for what", () => {
  test("is checked for every type before any relay hears of it [LB-SEC-2] [LB-SEC-11] [LB-SEC-15] [LB-SEC-1]", async () => {
    const { asked, admission } = policy(() => false);
    const bed = new ProxyBed({ admission });
    const types: readonly RequestType[] = requestTypes;
    for (const type of types) {
      const refused = await bed.client.ask(requestFor(type, "live-a"));
      assert.deepEqual(refused.answer, {
        type: "REQUEST_ERROR",
        errorCode: requestErrorCodes.UNAUTHORIZED,
        retryInterval: 0n,
        errorReason: "not authorized",
      });
    }
    assert.equal(asked.length, types.length);
    assert.equal(bed.dialled.length, 0);
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("comes before the route, so that nobody learns of routes [LB-S38]", async () => {
    const { admission } = policy(async () => false);
    const bed = new ProxyBed({ admission });
    const refused = await bed.client.ask(requestFor("SUBSCRIBE", "nowhere"));
    assert.equal(refused.error, requestErrorCodes.UNAUTHORIZED);
  });

  test("is checked again for an update: its token, its prefix, whatever it widens [LB-S124] [LB-SEC-18]", async () => {
    const wide = [utf8("live")];
    const { asked, admission } = policy(
      ({ trackNamespace, tokens }) => trackNamespace.length > 1 && !texts(tokens).includes("bad"),
    );
    const bed = new ProxyBed({ admission });
    const subscription = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-a"));
    const served = bed.relay().only("SUBSCRIBE_NAMESPACE");
    const updates: unknown[] = [];
    served.onMessage = (message) => {
      updates.push(message);
      served.send(requestOk);
    };
    served.send(requestOk);
    await settle();
    const prefix = { type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix: wide } as const;
    const widened = await subscription.request.update([prefix]);
    assert.ok(widened.type === "REQUEST_ERROR");
    assert.equal(widened.errorCode, requestErrorCodes.UNAUTHORIZED);
    const refused = await subscription.request.update([byValue("bad")]);
    assert.equal(refused.type, "REQUEST_ERROR");
    assert.deepEqual(updates, []);
    const moved = {
      type: "TRACK_NAMESPACE_PREFIX",
      trackNamespacePrefix: [utf8("live"), utf8("b")],
    } as const;
    assert.equal((await subscription.request.update([moved])).type, "REQUEST_OK");
    assert.equal(updates.length, 1);
    assert.deepEqual(
      asked.map(({ operation }) => operation),
      new Array(4).fill("subscribe-namespace"),
    );
  });

  for (const draft of drafts) {
    test(`draft ${draft}: is judged for an update without a token by what was shown last [LB-S124]`, async () => {
      for (const type of ["SUBSCRIBE", "SUBSCRIBE_NAMESPACE"] as const) {
        const { asked, admission } = policy(({ tokens }) => texts(tokens).includes("good"));
        const bed = new ProxyBed({ draft, admission });
        const request = withParameters(requestFor(type, "live-v", draft), byValue("good"));
        const { request: own, answer, error } = await bed.client.ask(request);
        assert.deepEqual([answer, error], [undefined, undefined]);
        const served = bed.relay().only(type);
        served.onMessage = () => served.send(requestOk);
        served.send(grantOf(type));
        await settle();
        for (const tokens of [[], [byValue("good too"), byValue("good")], []]) {
          assert.equal((await own.update(tokens)).type, "REQUEST_OK", type);
        }
        const refused = await own.update([byValue("bad")]);
        assert.ok(refused.type === "REQUEST_ERROR");
        assert.equal(refused.errorCode, requestErrorCodes.UNAUTHORIZED);
        // What was refused has shown nothing.
        assert.equal((await own.update([])).type, "REQUEST_OK", type);
        const shown = [["good"], ["good"], ["good too", "good"], ["good too", "good"], ["bad"]];
        assert.deepEqual(
          asked.map(({ tokens }) => texts(tokens)),
          [...shown, ["good too", "good"]],
        );
      }
    });

    test(`draft ${draft}: is for the prefix that an update has moved to [LB-S124] [LB-A15]`, async () => {
      const { asked, admission } = policy(() => true);
      const bed = new ProxyBed({ draft, admission });
      const first = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-x", draft));
      const served = bed.relay().only("SUBSCRIBE_NAMESPACE");
      served.onMessage = () => served.send(requestOk);
      served.send(requestOk);
      await settle();
      const moved = [utf8("live"), utf8("y")];
      const prefix = { type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix: moved } as const;
      assert.equal((await first.request.update([prefix])).type, "REQUEST_OK");
      // What it has left is free for another relay.
      bed.rotate([{ prefix: ["live", "x", "1"], kind: "static", rid: "r2" }, ...twoRoutes]);
      const second = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-x-1", draft));
      bed.relay("r2").only("SUBSCRIBE_NAMESPACE").send(requestOk);
      await settle();
      assert.equal(second.answer?.type, "REQUEST_OK");
      assert.equal((await first.request.update([])).type, "REQUEST_OK");
      assert.deepEqual(asked.at(-1)?.trackNamespace, moved);
    });

    test(`draft ${draft}: does not help with a prefix that never leaves its session [LB-S3] [LB-S4] [LB-A16]`, async () => {
      for (const type of ["SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const) {
        const bed = new ProxyBed({ draft });
        await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
        // The client's at the relay, and the relay's at the client.
        for (const [from, to] of [
          [bed.client, bed.relay()],
          [bed.relay(), bed.client],
        ] as const) {
          const { request } = await from.ask(requestFor(type, "live-v", draft));
          const served = to.only(type);
          const updates: unknown[] = [];
          served.onMessage = (message) => {
            updates.push(message);
            served.send(requestOk);
          };
          served.send(requestOk);
          await settle();
          for (const field of [".", ".session"]) {
            const trackNamespacePrefix = [utf8(field), utf8("x")];
            const answer = await request.update([
              { type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix },
            ]);
            assert.ok(answer.type === "REQUEST_ERROR");
            assert.equal(answer.errorCode, requestErrorCodes.DOES_NOT_EXIST);
          }
          assert.deepEqual(updates, []);
          // Other names that begin with a dot are like any.
          const trackNamespacePrefix = [utf8(".x")];
          const answer = await request.update([
            { type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix },
          ]);
          assert.equal(answer.type, "REQUEST_OK");
        }
      }
    });

    test(`draft ${draft}: a relay's request for names that never leave their session is refused here [LB-S3] [LB-S4] [LB-A16]`, async () => {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
      for (const type of requestTypes) {
        for (const name of [".2e-v", ".2esession-v"]) {
          const { error } = await bed.relay().ask(requestFor(type, name, draft));
          assert.equal(error, requestErrorCodes.DOES_NOT_EXIST, `${type} ${name}`);
        }
      }
      assert.equal(bed.client.requests.length, 0);
    });
  }

  test("the relay's own updates are not the client's to be judged", async () => {
    const { asked, admission } = policy(() => true);
    const bed = new ProxyBed({ admission });
    const published = await bed.client.ask(requestFor("PUBLISH", "live-a"));
    const served = bed.relay().only("PUBLISH");
    served.send(requestOk);
    await settle();
    void served.update([]);
    await settle();
    assert.equal(published.news.length, 1);
    assert.equal(asked.length, 1);
  });

  test("a hook that fails is a retry, and no relay is asked", async () => {
    const { admission } = policy(() => Promise.reject(new Error("down")));
    const bed = new ProxyBed({ admission });
    const refused = await bed.client.ask(requestFor("FETCH", "live-a"));
    assert.equal(refused.error, requestErrorCodes.INTERNAL_ERROR);
    assert.equal(bed.dialled.length, 0);
  });
});

describe("tokens of the client", () => {
  test("never cross as an alias: forwarded, they go by value [LB-A20] [PX-06] [LB-PSETUP-13] [LB-PSETUP-14] [LB-PSETUP-15]", async () => {
    const bed = new ProxyBed({ proxy: { backendTokens: "forward" } });
    // Only SETUP says that there is room for aliases.
    await bed.client.session.setup;
    await bed.client.ask(withParameters(requestFor("SUBSCRIBE", "live-a"), register(1n, "secret")));
    await bed.client.ask(
      withParameters(
        requestFor("FETCH", "live-a"),
        { type: "SUBSCRIBER_PRIORITY", value: 7 },
        useAlias(1n),
      ),
    );
    const relay = bed.relay();
    assert.deepEqual(relay.only("SUBSCRIBE").message.parameters, [byValue("secret")]);
    const { parameters } = relay.only("FETCH").message;
    assert.deepEqual(
      [...parameters].sort((a, b) => (a.type < b.type ? -1 : 1)),
      [byValue("secret"), { type: "SUBSCRIBER_PRIORITY", value: 7 }],
    );
  });

  test("stay here where the relay is to get none, or another [LB-SEC-14] [LB-A20]", async () => {
    for (const [backendTokens, shown] of [
      ["none", []],
      [{ delegate: () => ({ tokenType: 2n, tokenValue: utf8("delegated") }) }, ["delegated"]],
    ] as const) {
      const bed = new ProxyBed({ proxy: { backendTokens } });
      const asked = await bed.client.ask(
        withParameters(requestFor("SUBSCRIBE", "live-a"), byValue("secret")),
      );
      const served = bed.relay().only("SUBSCRIBE");
      assert.deepEqual(texts(served.tokens), shown);
      served.send(grantOf("SUBSCRIBE"));
      const seen: string[][] = [];
      served.onMessage = (_, tokens) => seen.push(texts(tokens));
      await settle();
      void asked.request.update([byValue("another secret")]);
      await settle();
      assert.deepEqual(seen, [[...shown]]);
    }
  });

  test("are asked for with the relay and the request that they are for [LB-SEC-16]", async () => {
    const contexts: unknown[] = [];
    const bed = new ProxyBed({
      proxy: {
        backendTokens: {
          delegate: ({ rid, uri, tokens, request }) => {
            contexts.push([rid, uri, texts(tokens), request?.type]);
            return undefined;
          },
        },
      },
    });
    await bed.client.ask(withParameters(requestFor("SUBSCRIBE", "live-a"), byValue("secret")));
    assert.deepEqual(contexts, [
      [toHex(utf8("r1")), "https://r1.example/moq", [], undefined],
      [toHex(utf8("r1")), "https://r1.example/moq", ["secret"], "SUBSCRIBE"],
    ]);
  });

  test("of relays reach the client by value", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live"));
    await bed.relay().ask(withParameters(requestFor("SUBSCRIBE", "live-a"), byValue("relay's")));
    assert.deepEqual(texts(bed.client.only("SUBSCRIBE").tokens), ["relay's"]);
  });

  test("show in no answer, whatever goes wrong with them [LB-SEC-17] [LB-S125]", async () => {
    const fail = () => {
      throw new Error("the token secret is unknown");
    };
    const beds = [
      new ProxyBed({ proxy: { backendTokens: { delegate: fail } } }),
      new ProxyBed({ proxy: { backendTokens: { delegate: async () => fail() } } }),
      new ProxyBed({ admission: policy(fail).admission }),
    ];
    for (const bed of beds) {
      const refused = await bed.client.ask(
        withParameters(requestFor("FETCH", "live-a"), byValue("secret")),
      );
      assert.ok(refused.answer?.type === "REQUEST_ERROR");
      assert.equal(refused.error, requestErrorCodes.INTERNAL_ERROR);
      assert.ok(!refused.answer.errorReason.includes("secret"));
      assert.equal(bed.proxied.mappings.size, 0);
    }
  });

  test("that do not come in time for a request refuse it, and its relay serves the others [LB-HEALTH-5] [LB-A9]", async () => {
    const bed = new ProxyBed({
      limits: { connectTimeout: 3000 },
      proxy: {
        backendTokens: {
          delegate: ({ request }) =>
            request?.type === "SUBSCRIBE" ? new Promise<undefined>(() => {}) : undefined,
        },
      },
    });
    for (const type of ["SUBSCRIBE", "FETCH"] as const) {
      const asked = await bed.client.ask(requestFor(type, "live-a"));
      await bed.pass(3000);
      const isLate = type === "SUBSCRIBE";
      assert.equal(asked.error, isLate ? requestErrorCodes.INTERNAL_ERROR : undefined, type);
      assert.equal(bed.relay().of(type).length, isLate ? 0 : 1);
    }
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("that are waited for keep the session to the relay, idle as it is [LB-PSETUP-6]", async () => {
    let give = () => {};
    const waiting = new Promise<undefined>((resolve) => {
      give = () => resolve(undefined);
    });
    const bed = new ProxyBed({
      limits: { backendIdleTimeout: 1000 },
      proxy: {
        backendTokens: {
          delegate: ({ request }) => (request?.type === "SUBSCRIBE" ? waiting : undefined),
        },
      },
    });
    const before = await bed.client.ask(requestFor("TRACK_STATUS", "live-a"));
    bed.relay().only("TRACK_STATUS").send(grantOf("TRACK_STATUS"));
    await settle();
    assert.ok(before.answer);
    await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    await bed.pass(2000);
    give();
    await settle();
    bed.relay().only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    assert.equal(bed.dialled.length, 1);
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("that make a message too long for its stream refuse the request only [LB-S58]", async () => {
    const tokenValue = new Uint8Array(65_400);
    const bed = new ProxyBed({
      proxy: {
        backendTokens: { delegate: ({ request }) => request && { tokenType: 0n, tokenValue } },
      },
    });
    const name = "n".repeat(200);
    const refused = await bed.client.ask(requestFor("SUBSCRIBE", `live-${name}`));
    assert.equal(refused.error, requestErrorCodes.INTERNAL_ERROR);
    assert.equal(bed.proxied.mappings.size, 0);
    assert.equal(bed.relay().session.isOver, false);
  });
});

describe("parameters", () => {
  test("go on unchanged, those of the data included [LB-A20]", async () => {
    const bed = new ProxyBed({
      relay: { setupOptions: [{ type: "MAX_FILTER_RANGES", value: 2n }] },
    });
    const parameters: MessageParameter[] = [
      { type: "OBJECT_DELIVERY_TIMEOUT", value: 500n },
      { type: "FORWARD", value: 0 },
      { type: "LOCATION_FILTER", filter: { kind: "START", start: { group: 200n, object: 1n } } },
      {
        type: "PRIORITY_FILTER",
        filter: { kind: "RANGES", setId: 0, ranges: [{ start: 1n, end: 9n }] },
      },
    ];
    await bed.client.ask(withParameters(requestFor("SUBSCRIBE", "live-a"), ...parameters));
    const served = bed.relay().only("SUBSCRIBE").message.parameters;
    assert.deepEqual(served, parameters);
  });

  test("that the relay has not agreed to are refused here [LB-A20] [LB-PSETUP-4]", async () => {
    const filter: MessageParameter = {
      type: "PRIORITY_FILTER",
      filter: { kind: "RANGES", setId: 0, ranges: [{ start: 1n, end: 9n }] },
    };
    const bed = new ProxyBed();
    const refused = await bed.client.ask(withParameters(requestFor("FETCH", "live-a"), filter));
    assert.equal(refused.error, requestErrorCodes.INVALID_FILTER);
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    bed.relay().only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    const update = await asked.request.update([filter]);
    assert.ok(update.type === "REQUEST_ERROR");
    assert.equal(update.errorCode, requestErrorCodes.INVALID_FILTER);
    assert.equal(bed.relay().session.isOver, false);
  });
});

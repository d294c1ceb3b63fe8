/**
 * What a balancer in redirect mode does to its sessions, whatever they come over. A transport's test
 * file calls {@link redirectScenarios} with a way to be connected to. No timers: the clock of the
 * sessions is moved by hand.
 *
 * @module
 */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../src/bytes.ts";
import type { AuthorizationPolicy } from "../../src/moq-lb/mod.ts";
import {
  type Draft,
  draftFacts,
  drafts,
  encodeControlMessage,
  type RequestType,
  requestErrorCodes,
  requestTypes,
  type SessionErrorName,
} from "../../src/moqt/mod.ts";
import { vector } from "../suite/moqt/vectors.ts";
import { bytesOf, emptySetup, type RawPeer, writeUntilStopped } from "./raw-peer.ts";
import {
  assertRefused,
  assertServes,
  type BedOptions,
  type Listen,
  liveAt,
  RedirectBed,
  requestBytes,
  subscribeBytes,
  tokenParameter,
} from "./redirect-bed.ts";

const namespaceTypes: readonly RequestType[] = [
  "PUBLISH_NAMESPACE",
  "SUBSCRIBE_NAMESPACE",
  "SUBSCRIBE_TRACKS",
];

type Body = (bed: RedirectBed) => Promise<void>;
type Scenario = (title: string, body: Body, options?: BedOptions) => void;

/** A name in text form that `type` can ask for. */
function nameFor(type: RequestType, namespace = "live"): string {
  return namespaceTypes.includes(type) ? namespace : `${namespace}--v`;
}

/**
 * Registers the scenarios under `name`.
 *
 * @param options `pathInSetup`: whether clients say in SETUP, and not before, what they address
 */
export function redirectScenarios(
  name: string,
  listen: Listen,
  { pathInSetup }: { readonly pathInSetup: boolean },
): void {
  const scenario: Scenario = (title, body, options) => {
    test(title, async () => {
      // Whoever says it in a request addresses the port it came to.
      const bed = new RedirectBed({ ...(pathInSetup ? {} : { ownServiceUris: [] }), ...options });
      await bed.listen(listen);
      try {
        await body(bed);
      } finally {
        await bed.close();
      }
    });
  };
  describe(`${name}: redirects`, () => redirects(scenario));
  describe(`${name}: rejections`, () => rejections(scenario));
  describe(`${name}: requests`, () => requests(scenario));
  describe(`${name}: SETUP`, () => {
    setups(scenario);
    if (pathInSetup) addressesInSetup(scenario);
    else addressesElsewhere(scenario);
  });
  describe(`${name}: violations`, () => violations(scenario));
  describe(`${name}: hostile clients`, () => hostility(scenario));
  describe(`${name}: tokens`, () => tokens(scenario));
  describe(`${name}: the end of sessions`, () => endings(scenario));
}

function redirects(scenario: Scenario): void {
  scenario(
    "SUBSCRIBE is answered with the REDIRECT of the vectors and FIN, in every draft [RD-01] [LB-REDIR-3] [LB-REDIR-4] [LB-REDIR-5] [LB-REDIR-8]",
    async (bed) => {
      for (const draft of drafts) {
        const peer = await bed.client(draft);
        const asked = requestBytes("SUBSCRIBE", "live-sports-game.2d7--audio", { draft });
        const { bytes, end } = await peer.ask(asked);
        assert.equal(toHex(bytes), vector("rd-sub"));
        assert.equal(end, "FIN");
        peer.transport.close(0n, "");
      }
    },
  );

  scenario(
    "requests about namespaces are redirected without a Track Name [RD-02] [LB-REDIR-6]",
    async (bed) => {
      const peer = await bed.client();
      for (const [i, type] of namespaceTypes.entries()) {
        const requestId = BigInt(2 * i);
        const { bytes } = await peer.ask(requestBytes(type, "live", { requestId }));
        assert.equal(toHex(bytes), vector("rd-ns"));
      }
    },
  );

  scenario(
    "each of the seven requests gets exactly one REDIRECT, or NOT_SUPPORTED where its draft has none [LB-KEY-22] [LB-KEY-25] [RD-03] [RD-04]",
    async (bed) => {
      for (const draft of drafts) {
        const peer = await bed.client(draft);
        for (const [i, type] of requestTypes.entries()) {
          const requestId = BigInt(2 * i);
          const asked = requestBytes(type, nameFor(type), { draft, requestId });
          const { bytes } = await peer.ask(asked);
          if (type === "PUBLISH" && draft > 18) assert.equal(toHex(bytes), vector("rd-pub"));
          const answer = await peer.refusal(
            requestBytes(type, nameFor(type), { draft, requestId: requestId + 100n }),
          );
          const redirectable = draftFacts[draft].redirectable.includes(type);
          const code = redirectable ? "REDIRECT" : "NOT_SUPPORTED";
          assert.equal(answer.errorCode, requestErrorCodes[code], `${type} in draft ${draft}`);
          assert.equal(answer.retryInterval, 0n);
        }
        peer.transport.close(0n, "");
      }
    },
  );

  scenario(
    "requests of one session go to the relay of each, and the session stays [LB-REDIR-2] [LB-KEY-4] [LB-REDIR-10]",
    async (bed) => {
      const peer = await bed.client();
      await assertServes(peer, 0, "r2");
      const ops = requestBytes("SUBSCRIBE", "ops--log", { requestId: 2n });
      const answer = await peer.refusal(ops);
      assert.equal(answer.redirect?.connectUri, "moqt://r1.example:4443/moq");
      await assertServes(peer, 4, "r2");
      assert.equal(bed.server.status().sessions, 1);
    },
  );

  scenario(
    "a new snapshot counts from the next request of an open session on [LB-KEY-11] [LB-AFFIN-4] [LB-RGOAWAY-6]",
    async (bed) => {
      const peer = await bed.client();
      await assertServes(peer, 0, "r2");
      bed.holder.active = liveAt("r1", 2);
      await assertServes(peer, 2, "r1");
      bed.holder.active = liveAt("r3", 3);
      await assertRefused(peer, subscribeBytes(4), "INTERNAL_ERROR");
      bed.holder.active = liveAt("r2", 4);
      await assertServes(peer, 6, "r2");
    },
  );

  scenario(
    "early objects of a redirected PUBLISH are stopped, or dropped, and nothing breaks [LB-S7]",
    async (bed) => {
      const peer = await bed.client();
      const publish = await peer.open(requestBytes("PUBLISH", "live--v"));
      const objects = await peer.uni("14 00 00 00 00");
      const code = await writeUntilStopped(objects, bytesOf("00 04 61626364"));
      const { largestStopCode } = peer.transport.fidelity;
      assert.equal(code, largestStopCode === 0n ? 0n : 0x1n);
      peer.transport.sendDatagram(bytesOf("00 00 05 01 80 6869"));
      // An update that was on its way when the answer came.
      await publish.write(bytesOf("02 0002 02 00")).catch(() => {});
      await assertServes(peer, 4);
    },
  );
}

function rejections(scenario: Scenario): void {
  scenario(
    "names without a route are refused by what is asked of them [LB-REJECT-1] [LB-REJECT-2] [LB-REJECT-3] [LB-REJECT-4]",
    async (bed) => {
      const peer = await bed.client();
      for (const [i, type] of requestTypes.entries()) {
        const asked = requestBytes(type, nameFor(type, "nowhere"), { requestId: BigInt(2 * i) });
        const publishes = type === "PUBLISH" || type === "PUBLISH_NAMESPACE";
        await assertRefused(peer, asked, publishes ? "UNINTERESTED" : "DOES_NOT_EXIST");
      }
      await assertServes(peer, 100);
    },
  );

  scenario(
    "the namespace of no fields matches no other route, and closes nothing [NS-04] [NS-05]",
    async (bed) => {
      for (const id of ["ns-zero-sub", "subns-empty", "subtracks-empty"]) {
        const peer = await bed.client();
        await assertRefused(peer, vector(id), "DOES_NOT_EXIST");
        await assertServes(peer, 2);
        peer.transport.close(0n, "");
      }
    },
  );

  scenario(
    "reserved names are answered here, others with a dot are routed [NS-14] [NS-16]",
    async (bed) => {
      for (const id of ["res-dot-sub", "res-dot-pubns"]) {
        const peer = await bed.client();
        await assertRefused(peer, vector(id), "DOES_NOT_EXIST");
        peer.transport.close(0n, "");
      }
      const peer = await bed.client();
      const answer = await peer.refusal(vector("res-other"));
      assert.equal(answer.redirect?.connectUri, "moqt://r1.example:4443/moq");
    },
  );

  scenario(
    "without a snapshot requests get INTERNAL_ERROR with a retry [LB-REJECT-6] [LB-A24]",
    async (bed) => {
      const peer = await bed.client();
      const answer = await peer.refusal(subscribeBytes());
      assert.equal(answer.errorCode, requestErrorCodes.INTERNAL_ERROR);
      assert.ok(answer.retryInterval > 0n);
      bed.holder.active = liveAt("r2");
      await assertServes(peer, 2);
    },
    { active: undefined },
  );

  scenario(
    "more requests than the rate allows get EXCESSIVE_LOAD, those of others are served [LB-REJECT-8] [LB-SEC-12]",
    async (bed) => {
      const peer = await bed.client();
      await assertServes(peer, 0);
      await assertServes(peer, 2);
      const answer = await peer.refusal(subscribeBytes(4));
      assert.equal(answer.errorCode, requestErrorCodes.EXCESSIVE_LOAD);
      assert.ok(answer.retryInterval > 0n);
      await assertServes(peer, 6);
    },
    { rateLimit: everyThirdRefused() },
  );

  scenario(
    "a request that is longer than allowed gets EXCESSIVE_LOAD and a time to wait [LB-REJECT-8] [LB-SEC-28]",
    async (bed) => {
      const peer = await bed.client();
      const long = requestBytes("SUBSCRIBE", `live--${"v".repeat(100)}`);
      for (const fin of [true, false]) {
        const answer = await peer.refusal(long, fin);
        assert.equal(answer.errorCode, requestErrorCodes.EXCESSIVE_LOAD);
        assert.ok(answer.retryInterval > 0n);
      }
      await assertServes(peer, 2);
    },
    { limits: { maximumMessageSize: 64 } },
  );

  scenario(
    "requests that leave no room for what is incomplete get EXCESSIVE_LOAD and a time to wait [LB-REJECT-8] [LB-SEC-28]",
    async (bed) => {
      const peer = await bed.client();
      // 32 KiB of incomplete messages may wait: two of these, and of a third all but the last byte.
      const begun = new Uint8Array(12_000);
      begun.set([0x03, 0x30, 0x00]);
      const kept = [await peer.open(begun), await peer.open(begun)];
      await assertServes(peer, 0);
      const answer = await peer.refusal(begun.subarray(0, 0x8000 - 24_000 + 1), false);
      assert.equal(answer.errorCode, requestErrorCodes.EXCESSIVE_LOAD);
      assert.ok(answer.retryInterval > 0n);
      await assertServes(peer, 2);
      for (const stream of kept) stream.reset(0n);
    },
    { limits: { maximumMessageSize: 0x4000 } },
  );

  scenario(
    "PUBLISH with FIN gets the same answer whether the policy takes its time or not [LB-KEY-22]",
    async (bed) => {
      const peer = await bed.client();
      const answers = [];
      for (const requestId of [0n, 2n]) {
        answers.push(await peer.ask(requestBytes("PUBLISH", "live--v", { requestId }), true));
      }
      const [late, soon] = answers;
      assert.deepEqual(late, soon);
      assert.equal(late?.end, "FIN");
      assert.ok((late?.bytes.length ?? 0) > 0);
    },
    { authorization: firstTakesTime() },
  );
}

function firstTakesTime(): AuthorizationPolicy {
  let asked = 0;
  return {
    name: "slow at first",
    authorize: () => {
      if (++asked > 1) return true;
      return new Promise((resolve) => setTimeout(() => resolve(true), 50));
    },
  };
}

function everyThirdRefused(): () => boolean {
  let asked = 0;
  return () => ++asked % 3 !== 0;
}

function requests(scenario: Scenario): void {
  scenario("arrive in any order of their Request IDs [RQ-03]", async (bed) => {
    const peer = await bed.client();
    assert.equal((await peer.refusal(vector("rid-4"))).errorCode, requestErrorCodes.REDIRECT);
    await assertServes(peer, 0);
    await assertServes(peer, 2);
  });

  scenario("are answered with and without FIN after them [RQ-09]", async (bed) => {
    const peer = await bed.client();
    for (const fin of [true, false]) {
      const answer = await peer.refusal(subscribeBytes(fin ? 0 : 2), fin);
      assert.equal(answer.errorCode, requestErrorCodes.REDIRECT);
    }
  });

  scenario("may be as long as names can be [NS-02] [NS-06] [NS-09]", async (bed) => {
    for (const id of ["ns-32", "ftn-4096", "ns-nonutf8"]) {
      const peer = await bed.client();
      await assertRefused(peer, vector(id), "DOES_NOT_EXIST");
      peer.transport.close(0n, "");
    }
  });

  scenario("for overlapping prefixes are each redirected [RQ-17]", async (bed) => {
    const peer = await bed.client();
    for (const id of ["ov1", "ov2"]) {
      const answer = await peer.refusal(vector(id));
      assert.equal(answer.redirect?.connectUri, "moqt://r2.example:4443/moq");
    }
  });

  scenario("for the status of a track go where SUBSCRIBE goes [RQ-18] [LB-KEY-21]", async (bed) => {
    const peer = await bed.client();
    const { redirect } = await peer.refusal(vector("ts"));
    assert.equal(redirect?.connectUri, "moqt://r2.example:4443/moq");
    assert.deepEqual(redirect?.trackName, utf8("v"));
  });

  scenario("come in a hundred at once, each on its own stream", async (bed) => {
    const peer = await bed.client();
    const ids = Array.from({ length: 100 }, (_, i) => 2 * i);
    await Promise.all(ids.map((id) => assertServes(peer, id)));
  });
}

function setups(scenario: Scenario): void {
  scenario("with options that nobody knows, and GREASE, begins a session [SU-01]", async (bed) => {
    for (const setup of [vector("setup-unknown"), "af00 0007 809d 02 00ff 7f 07"]) {
      const peer = await bed.connect();
      await peer.setup(setup);
      await assertServes(peer, 0);
      peer.transport.close(0n, "");
    }
  });

  scenario("is answered with the name of this implementation and room for tokens", async (bed) => {
    const peer = await bed.client();
    assert.deepEqual(await peer.controlMessage(), {
      type: "SETUP",
      options: [
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 4096n },
        { type: "MOQT_IMPLEMENTATION", value: "yardmaster" },
      ],
    });
  });

  scenario("may come after requests, which wait for it [SU-07]", async (bed) => {
    const peer = await bed.connect();
    const early = peer.refusal(subscribeBytes(0));
    const earlier = peer.refusal(subscribeBytes(2), false);
    await peer.setup();
    for (const answer of [await early, await earlier]) {
      assert.equal(answer.errorCode, requestErrorCodes.REDIRECT);
    }
  });
}

function addressesInSetup(scenario: Scenario): void {
  scenario("may say PATH with a query, and AUTHORITY [SU-04]", async (bed) => {
    const peer = await bed.connect();
    await peer.setup(vector("setup-pathq"));
    await assertServes(peer, 0);
  });

  const refused: readonly (readonly [string, string, SessionErrorName])[] = [
    ["another PATH", "af000007 01 05 2f6e6f7065", "INVALID_PATH"],
    ["a PATH that is none", "af000007 01 05 6e6f706521", "MALFORMED_PATH"],
    ["another AUTHORITY", "af000007 05 05 6f746865 72", "INVALID_AUTHORITY"],
    ["an AUTHORITY that is none", "af000007 05 05 612f622f63", "MALFORMED_AUTHORITY"],
  ];
  for (const [what, setup, code] of refused) {
    scenario(`with ${what} is closed with ${code} [SU-05]`, async (bed) => {
      const peer = await bed.connect();
      await peer.setup(setup);
      await peer.closedWith(code);
    });
  }
}

function addressesElsewhere(scenario: Scenario): void {
  const refused = [
    ["setup-path", "INVALID_PATH"],
    ["setup-auth", "INVALID_AUTHORITY"],
  ] as const;
  for (const [id, code] of refused) {
    scenario(
      `with what the request has said already is closed with ${code} [SU-03]`,
      async (bed) => {
        const peer = await bed.connect();
        await peer.setup(vector(id));
        await peer.closedWith(code);
      },
    );
  }
}

/** A client with a session beside that has to live on. */
async function withNeighbour(
  bed: RedirectBed,
  body: (peer: RawPeer) => Promise<void>,
  draft: Draft = 22,
): Promise<void> {
  const neighbour = await bed.client();
  await assertServes(neighbour, 0);
  await body(await bed.connect(draft));
  await assertServes(neighbour, 2);
}

function violations(scenario: Scenario): void {
  scenario(
    "a request that breaks a rule closes its session, and no other [RQ-01, RQ-04, RQ-05, RQ-07, RQ-11, NS-03, NS-08, NS-10, NS-13]",
    async (bed) => {
      const requestsThatClose: readonly (readonly [string, SessionErrorName])[] = [
        [vector("rid-odd"), "INVALID_REQUEST_ID"],
        [vector("param-unknown"), "PROTOCOL_VIOLATION"],
        [vector("param-scope"), "PROTOCOL_VIOLATION"],
        [vector("type-unknown"), "PROTOCOL_VIOLATION"],
        [vector("reason-1025"), "PROTOCOL_VIOLATION"],
        [vector("ns-emptyfield"), "PROTOCOL_VIOLATION"],
        [vector("prefix-4097"), "PROTOCOL_VIOLATION"],
        [vector("ns-short"), "PROTOCOL_VIOLATION"],
        [vector("sub-trailing"), "PROTOCOL_VIOLATION"],
        [vector("ga"), "PROTOCOL_VIOLATION"],
        // FIN in the middle of a SUBSCRIBE.
        ["03000a0001046c6976", "PROTOCOL_VIOLATION"],
      ];
      for (const [bytes, code] of requestsThatClose) {
        await withNeighbour(bed, async (peer) => {
          await peer.setup();
          // The session may end before all of it has been sent.
          await peer.open(bytes, true).catch(() => {});
          await peer.closedWith(code);
        });
      }
    },
  );

  scenario("a Request ID that was used closes the session [RQ-01] [RQ-03]", async (bed) => {
    const peer = await bed.client();
    await assertServes(peer, 0);
    await peer.open(subscribeBytes(0), true);
    await peer.closedWith("INVALID_REQUEST_ID");
  });

  scenario("bytes are read by the draft that was negotiated [RQ-19]", async (bed) => {
    await withNeighbour(
      bed,
      async (peer) => {
        await peer.setup();
        await peer.open(vector("fetch20"), true);
        await peer.closedWith("PROTOCOL_VIOLATION");
      },
      18,
    );
  });

  scenario(
    "a control stream that breaks a rule closes its session, and no other [VI-03, VI-04, SU-08, GA-01, GA-02]",
    async (bed) => {
      const controlsThatClose = [
        vector("setup-wrong"),
        vector("delta-overflow"),
        emptySetup + emptySetup,
        emptySetup + vector("ga-client-uri"),
        emptySetup + vector("ga") + vector("ga"),
        // A request.
        emptySetup + vector("ov1"),
      ];
      for (const bytes of controlsThatClose) {
        await withNeighbour(bed, async (peer) => {
          await peer.setup(bytes).catch(() => {});
          await peer.closedWith("PROTOCOL_VIOLATION");
        });
      }
    },
  );

  scenario("a second control stream closes the session [SU-08]", async (bed) => {
    const peer = await bed.client();
    await assertServes(peer, 0);
    await peer.setup();
    await peer.closedWith("PROTOCOL_VIOLATION");
  });

  scenario("the end of the control stream closes the session [SU-09]", async (bed) => {
    for (const how of ["FIN", "reset"] as const) {
      const peer = await bed.connect();
      const control = await peer.setup();
      await assertServes(peer, 0);
      // Where a reset arrives as FIN, the outcome is the same.
      if (how === "FIN") await control.end();
      else control.reset(0x1n);
      await peer.closedWith("PROTOCOL_VIOLATION");
    }
  });

  scenario("STOP_SENDING for our control stream closes the session [SU-09]", async (bed) => {
    const peer = await bed.connect();
    await peer.setup();
    await assertServes(peer, 0);
    const control = await peer.transport.accept();
    await control?.read();
    control?.stopSending(0x1n);
    // Where a stop shows only in what is written next, that is the GOAWAY. The stop is there once a
    // request that was made after it is answered, unless that ended the session.
    await assertServes(peer, 2).catch(() => {});
    void bed.server.drain(60_000);
    await peer.closedWith("PROTOCOL_VIOLATION");
  });

  scenario(
    "a GOAWAY that opens a stream makes no control stream of it, and the session ends for want of SETUP [GA-09]",
    async (bed) => {
      // As the type of a unidirectional stream, its type says SUBGROUP_HEADER.
      const early = await bed.connect();
      await early.uni(vector("ga"));
      const late = await bed.client();
      await late.uni(vector("ga"));
      await assertServes(late, 0);
      bed.clock.advance(500);
      await early.closedWith("CONTROL_MESSAGE_TIMEOUT");
      await assertServes(late, 2);
    },
    { limits: { setupTimeout: 500 } },
  );

  scenario("an empty GOAWAY of the client changes nothing here [LB-KEY-23]", async (bed) => {
    const peer = await bed.connect();
    await peer.setup(emptySetup + vector("ga"));
    await assertServes(peer, 0);
  });
}

function hostility(scenario: Scenario): void {
  scenario(
    "a client that leaves in the middle of everything leaves nothing behind",
    async (bed) => {
      await withNeighbour(bed, async (peer) => {
        await peer.setup();
        await assertServes(peer, 0);
        await peer.open("03000a0001046c69");
        await peer.uni("14");
        peer.transport.close(0n, "");
        await bed.ended(1);
        assert.equal(bed.server.status().sessions, 1);
      });
    },
  );

  scenario("messages that never end are given up, and only their session", async (bed) => {
    const neighbour = await bed.client();
    const peer = await bed.client();
    for (let i = 0; i < 50; i++) await peer.open("03000a00");
    await assertServes(peer, 0);
    bed.clock.advance(10_000);
    await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
    await assertServes(neighbour, 0);
  });

  scenario(
    "a client that fills every stream with noise ends with a registered code",
    async (bed) => {
      await withNeighbour(bed, async (peer) => {
        const noise = Uint8Array.from({ length: 2000 }, (_, i) => (i * 73 + 191) % 256);
        for (let i = 0; i < 10; i++) {
          await peer.uni(noise.subarray(100 * i)).catch(() => {});
          await peer.open(noise.subarray(100 * i)).catch(() => {});
        }
        await peer.closedWith("PROTOCOL_VIOLATION");
      });
    },
  );

  scenario(
    "what a client does not read is held within bounds, and costs that client its session [LB-SEC-30]",
    async (bed) => {
      await withNeighbour(bed, async (peer) => {
        await peer.setup();
        const unread: unknown[] = [];
        const asking = async () => {
          for (let id = 0; id < 8000; id += 2) {
            const name = `live-${"x".repeat(3000)}--v`;
            const asked = requestBytes("SUBSCRIBE", name, { requestId: BigInt(id) });
            unread.push(await peer.open(asked, true));
          }
        };
        await assert.rejects(asking(), { code: "CONNECTION_CLOSED" });
        await peer.transport.closed;
        await bed.ended(1);
        // Over one TCP connection the code waits behind what is not read, and may be lost with it:
        // what the balancer did is told by its own record.
        const closes = bed.events.flatMap((event) => (event.type === "closed" ? [event.code] : []));
        assert.ok(closes.includes("INTERNAL_ERROR"), `sessions closed with ${closes}`);
      });
    },
    { limits: { maximumQueuedBytes: 20_000 } },
  );
}

function tokens(scenario: Scenario): void {
  /** Grants requests that show the token `let me in`, and tells what it was shown. */
  const byToken: BedOptions["authorization"] = {
    name: "by-token",
    authorize: ({ tokens }) =>
      tokens.some(({ tokenValue }) => new TextDecoder().decode(tokenValue) === "let me in"),
  };

  scenario(
    "an alias that a refused request registers counts for the next one [RQ-14] [LB-S40]",
    async (bed) => {
      const peer = await bed.client();
      const register = subscribeBytes(0, [tokenParameter(7, "let me in")]);
      assert.equal((await peer.refusal(register)).errorCode, requestErrorCodes.REDIRECT);
      const use = subscribeBytes(2, [tokenParameter(7)]);
      assert.equal((await peer.refusal(use)).errorCode, requestErrorCodes.REDIRECT);
      await assertRefused(peer, subscribeBytes(4), "UNAUTHORIZED");
    },
    { authorization: byToken },
  );

  scenario(
    "an unauthorized request learns nothing, whether there is a route or not [LB-REJECT-7] [LB-SEC-1] [LB-SEC-20]",
    async (bed) => {
      const peer = await bed.client();
      await assertRefused(peer, subscribeBytes(0), "UNAUTHORIZED");
      const unrouted = requestBytes("SUBSCRIBE", "nowhere--v", { requestId: 2n });
      await assertRefused(peer, unrouted, "UNAUTHORIZED");
    },
    { authorization: byToken },
  );

  scenario(
    "a token of SETUP counts for every request",
    async (bed) => {
      const peer = await bed.connect();
      await peer.setup(
        encodeControlMessage(
          {
            type: "SETUP",
            options: [
              {
                type: "AUTHORIZATION_TOKEN",
                token: { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8("let me in") },
              },
            ],
          },
          22,
        ),
      );
      await assertServes(peer, 0);
    },
    { authorization: byToken },
  );

  scenario("an alias that is registered twice closes the session [RQ-15]", async (bed) => {
    const peer = await bed.client();
    await peer.refusal(subscribeBytes(0, [tokenParameter(0, "a")]));
    await peer.open(subscribeBytes(2, [tokenParameter(0, "b")]), true);
    await peer.closedWith("DUPLICATE_AUTH_TOKEN_ALIAS");
  });

  scenario(
    "more tokens than there is room for close the session [RQ-14]",
    async (bed) => {
      const peer = await bed.client();
      await peer.open(vector("auth-reg"), true);
      await peer.closedWith("AUTH_TOKEN_CACHE_OVERFLOW");
    },
    { limits: { tokenCacheSize: 0 } },
  );

  scenario(
    "a session that its policy refuses is closed with UNAUTHORIZED [LB-SEC-11]",
    async (bed) => {
      const peer = await bed.client();
      await peer.closedWith("UNAUTHORIZED");
      const last = bed.events.at(-1);
      assert.ok(last?.type === "closed");
      assert.equal(last.refusal, "no-token");
    },
    {
      authorization: {
        name: "closed",
        authorizeSession: async () => ({ granted: false, reason: "no-token" }),
        authorize: () => true,
      },
    },
  );
}

function endings(scenario: Scenario): void {
  scenario(
    "a session without requests is closed with NO_ERROR after a while [LB-REDIR-17]",
    async (bed) => {
      const peer = await bed.client();
      await assertServes(peer, 0);
      bed.clock.advance(900);
      await assertServes(peer, 2);
      bed.clock.advance(900);
      await assertServes(peer, 4);
      bed.clock.advance(1000);
      await peer.closedWith("NO_ERROR");
      assert.equal(bed.clock.pending, 0);
      const next = await bed.client();
      await assertServes(next, 0);
    },
    { limits: { idleTimeout: 1000 } },
  );

  scenario(
    "a client that sends no SETUP is closed with CONTROL_MESSAGE_TIMEOUT",
    async (bed) => {
      const peer = await bed.connect();
      await peer.controlMessage();
      bed.clock.advance(500);
      await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
    },
    { limits: { setupTimeout: 500 } },
  );

  scenario(
    "a drain sends GOAWAY without a URI to every session, and ends with the last [GA-10] [GA-05]",
    async (bed) => {
      const peers = [await bed.client(), await bed.client(), await bed.client(18)];
      for (const peer of peers) await assertServes(peer, 0).catch(() => {});
      const drained = bed.server.drain(5000);
      for (const peer of peers) {
        assert.equal((await peer.controlMessage()).type, "SETUP");
        const goaway = await peer.controlMessage();
        assert.ok(goaway.type === "GOAWAY");
        assert.equal(goaway.newSessionUri, "");
        assert.equal(goaway.timeout, 5000n);
        peer.transport.close(0n, "");
      }
      await drained;
      assert.equal(bed.server.status().sessions, 0);
      assert.equal(bed.clock.pending, 0);
    },
  );

  scenario("what remains of a drain is closed with GOAWAY_TIMEOUT [GA-10]", async (bed) => {
    const peer = await bed.client();
    await assertServes(peer, 0);
    const drained = bed.server.drain(5000);
    bed.clock.advance(4999);
    assert.equal(bed.server.status().sessions, 1);
    bed.clock.advance(1);
    await peer.closedWith("GOAWAY_TIMEOUT");
    await drained;
  });

  scenario("every end of a session is told, with what it did", async (bed) => {
    const peer = await bed.client();
    await assertServes(peer, 0);
    await assertRefused(
      peer,
      requestBytes("SUBSCRIBE", "nowhere--v", { requestId: 2n }),
      "DOES_NOT_EXIST",
    );
    await peer.open(vector("type-unknown"), true);
    await peer.closedWith("PROTOCOL_VIOLATION");
    const closed = bed.events.find(({ type }) => type === "closed");
    assert.ok(closed?.type === "closed");
    const { by, code, redirects, rejections: rejected } = closed;
    assert.deepEqual(
      { by, code, redirects, rejected },
      { by: "local", code: "PROTOCOL_VIOLATION", redirects: 1, rejected: 1 },
    );
  });
}

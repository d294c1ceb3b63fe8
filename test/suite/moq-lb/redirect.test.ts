import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import {
  createRedirector,
  type Decision,
  encodeAnswer,
  toRequestError,
} from "../../../src/moq-lb/mod.ts";
import {
  type Draft,
  draftFacts,
  encodeControlMessage,
  type RequestErrorName,
  requestErrorCodes,
  requestTrackName,
  routingKey,
  UnknownDraftError,
} from "../../../src/moqt/mod.ts";
import { parseSnapshot } from "../../../src/snapshot/mod.ts";
import { anyFullName } from "../moqt/arbitrary.ts";
import { allDrafts, joiningFetch } from "../moqt/support.ts";
import { vector } from "../moqt/vectors.ts";
import {
  activate,
  fields,
  hashed,
  meetings,
  now,
  pinned,
  request,
  requestTypes,
  snapshotOf,
} from "../routing/fixtures.ts";
import {
  answerTo,
  assertRejects,
  redirectorOf,
  vectorRequest,
  vectorSnapshot,
} from "./fixtures.ts";

const namespaceTypes = ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const;
const draft18Refuses = ["PUBLISH", "SUBSCRIBE_TRACKS"] as const;

describe("REDIRECT", () => {
  test("carries the Selected Relay's URI, the request's own name and Retry Interval 0 [LB-REDIR-3] [LB-REDIR-4] [LB-REDIR-5] [LB-REDIR-8] [LB-SEC-21] [RD-01]", async () => {
    const asked = request("SUBSCRIBE", fields("live", "sports", "game-7"), utf8("audio"));
    for (const draft of allDrafts) {
      const decision = await redirectorOf(vectorSnapshot()).decide(asked, draft);
      assert.equal(toHex(encodeAnswer(decision, asked, draft)), vector("rd-sub"));
    }
  });

  test("has an empty Track Name for requests about namespaces [LB-REDIR-6] [RD-02]", async () => {
    for (const type of namespaceTypes) {
      const asked = request(type, fields("live"));
      const decision = await redirectorOf(vectorSnapshot()).decide(asked, 22);
      assert.equal(toHex(encodeAnswer(decision, asked, 22)), vector("rd-ns"));
    }
  });

  test("answers PUBLISH with the Track Name of the PUBLISH from draft 19 on [RD-04]", async () => {
    const asked = request("PUBLISH", fields("live"), utf8("v"));
    for (const draft of [19, 20, 21, 22] as const) {
      const decision = await redirectorOf(vectorSnapshot()).decide(asked, draft);
      assert.equal(toHex(encodeAnswer(decision, asked, draft)), vector("rd-pub"));
    }
  });

  test("answers each of the seven routable requests [LB-KEY-22]", async () => {
    for (const type of requestTypes) {
      const answer = await answerTo(redirectorOf(vectorSnapshot()), request(type, fields("live")));
      assert.equal(answer.errorCode, 0x34n, type);
    }
  });

  test("sends TRACK_STATUS where SUBSCRIBE goes, under its own Track Name [RQ-18] [LB-KEY-21]", async () => {
    const redirector = redirectorOf(activate(snapshotOf([hashed(["live"])])));
    const status = await answerTo(redirector, vectorRequest("ts"));
    const subscribe = await answerTo(redirector, request("SUBSCRIBE", fields("live"), utf8("a")));
    assert.equal(status.redirect?.connectUri, subscribe.redirect?.connectUri);
    assert.deepEqual(status.redirect?.trackName, utf8("v"));
  });

  test("sends the namespaces of one client to each of their relays, as the draft's figure has it [LB-REDIR-2]", async () => {
    const relays = ["R1", "R2"].map((rid) => ({
      rid,
      uri: `https://${rid.toLowerCase()}.example/moq`,
      health: "healthy",
    }));
    const routes = [{ prefix: ["live"], kind: "hashed", rids: ["R1", "R2"] }];
    const redirector = redirectorOf(activate(parseSnapshot({ version: 1, relays, routes })));
    const game = request("SUBSCRIBE", fields("live", "sports", "game-7"), utf8("audio"));
    const news = request("SUBSCRIBE", fields("live", "news", "ch-2"), utf8("video"));
    const uris = [await answerTo(redirector, game), await answerTo(redirector, news)].map(
      (answer) => answer.redirect?.connectUri,
    );
    assert.deepEqual(uris, ["https://r2.example/moq", "https://r1.example/moq"]);
  });

  test("repeats the name of any request byte for byte, whatever it looks like [LB-REDIR-7] [LB-SEC-22] [NS-09]", async () => {
    const redirector = redirectorOf(activate(snapshotOf([pinned("r3")])));
    const types = fc.constantFrom(...requestTypes);
    await fc.assert(
      fc.asyncProperty(types, anyFullName(), async (type, { trackNamespace, trackName }) => {
        const [first] = trackNamespace;
        fc.pre(first === undefined || first[0] !== 0x2e);
        const asked = request(type, trackNamespace, trackName);
        const { redirect } = await answerTo(redirector, asked);
        assert.equal(redirect?.connectUri, "https://r3.example/moq");
        assert.deepEqual(redirect?.trackNamespace, routingKey(asked));
        assert.deepEqual(redirect?.trackName, requestTrackName(asked) ?? new Uint8Array());
      }),
    );
    const lookalike = request("SUBSCRIBE", fields("https://evil.example/moq"), utf8("moqt://evil"));
    const answer = await answerTo(redirector, lookalike);
    assert.equal(answer.redirect?.connectUri, "https://r3.example/moq");
  });

  test("is encoded as the codec encodes it, in every draft, at every length of a name", async () => {
    const redirector = redirectorOf(activate(snapshotOf([pinned("r1")])));
    for (const length of [1, 127, 128, 129, 2000, 4000]) {
      const asked = request("SUBSCRIBE", [new Uint8Array(length).fill(0x61)], utf8("v"));
      for (const draft of allDrafts) {
        const decision = await redirector.decide(asked, draft);
        assert.equal(
          toHex(encodeAnswer(decision, asked, draft)),
          toHex(encodeControlMessage(toRequestError(decision, asked), draft)),
        );
      }
    }
  });

  test("follows the snapshot in force when the request arrives and remembers none before it [LB-AFFIN-4] [LB-KEY-11] [LB-RGOAWAY-6]", async () => {
    const holder = { active: activate(snapshotOf([meetings("example.com")])) };
    const redirector = createRedirector({ holder, authorization: "allow-all", now: () => now });
    const asked = request("SUBSCRIBE", fields("example.com", "m1"), utf8("video"));
    const before = await answerTo(redirector, asked);
    holder.active = activate(snapshotOf([meetings("example.com")], { r2: "unhealthy" }));
    const during = await answerTo(redirector, asked);
    holder.active = activate(snapshotOf([meetings("example.com")]));
    const after = await answerTo(redirector, asked);
    assert.deepEqual(
      [before, during, after].map((answer) => answer.redirect?.connectUri),
      ["https://r2.example/moq", "https://r1.example/moq", "https://r2.example/moq"],
    );
  });

  test("never leads to a service URI of the deployment, however it is spelled [LB-REDIR-18] [LB-S104]", async () => {
    const own = redirectorOf(vectorSnapshot(), {
      ownServiceUris: ["https://R2.example:4443/moq"],
    });
    const answer = await answerTo(own, request("SUBSCRIBE", fields("live")));
    assertRejects(answer, "INTERNAL_ERROR", "retry");
    const other = redirectorOf(vectorSnapshot(), { ownServiceUris: ["https://r2.example/moq"] });
    assert.ok((await answerTo(other, request("SUBSCRIBE", fields("live")))).redirect);
  });
});

test("a draft that is not spoken is the caller's fault, and named", () => {
  const redirector = redirectorOf(vectorSnapshot());
  const asked = request("SUBSCRIBE", fields("live"));
  const decision = redirector.decide(asked, 22) as Decision;
  for (const draft of [17, undefined] as unknown as Draft[]) {
    assert.throws(() => redirector.decide(asked, draft), UnknownDraftError);
    assert.throws(() => encodeAnswer(decision, asked, draft), UnknownDraftError);
  }
});

describe("draft 18", () => {
  test("refuses PUBLISH and SUBSCRIBE_TRACKS with NOT_SUPPORTED instead of REDIRECT [RD-03]", async () => {
    const redirector = redirectorOf(vectorSnapshot());
    for (const type of draft18Refuses) {
      const answer = await answerTo(redirector, request(type, fields("live")), 18);
      assertRejects(answer, "NOT_SUPPORTED", "final");
    }
    for (const type of ["SUBSCRIBE", "TRACK_STATUS", "SUBSCRIBE_NAMESPACE"] as const) {
      assert.ok((await answerTo(redirector, request(type, fields("live")), 18)).redirect, type);
    }
  });

  test("says first what is wrong in every draft: authorization, route, configuration", async () => {
    const publish = request("PUBLISH", fields("elsewhere"));
    const barred = redirectorOf(vectorSnapshot(), {
      authorization: { name: "nobody", authorize: () => false },
    });
    assertRejects(await answerTo(barred, publish, 18), "UNAUTHORIZED", "final");
    assertRejects(
      await answerTo(redirectorOf(vectorSnapshot()), publish, 18),
      "UNINTERESTED",
      "final",
    );
    assertRejects(await answerTo(redirectorOf(undefined), publish, 18), "INTERNAL_ERROR", "retry");
  });
});

describe("rejections", () => {
  test("no route: DOES_NOT_EXIST to those who ask, UNINTERESTED to those who offer, no retry [LB-REJECT-2] [LB-REJECT-3] [LB-REJECT-4] [LB-A21] [RT-02]", async () => {
    const redirector = redirectorOf(vectorSnapshot());
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        const offered = type === "PUBLISH" || type === "PUBLISH_NAMESPACE";
        const answer = await answerTo(redirector, request(type, fields("other")), draft);
        assertRejects(answer, offered ? "UNINTERESTED" : "DOES_NOT_EXIST", "final");
      }
    }
  });

  test("no Eligible relay: INTERNAL_ERROR with a retry for all seven types [LB-REJECT-5] [LB-S106]", async () => {
    const draining = activate(snapshotOf([pinned("r1", "live"), hashed([])], { r1: "draining" }));
    for (const type of requestTypes) {
      const answer = await answerTo(redirectorOf(draining), request(type, fields("live")));
      assertRejects(answer, "INTERNAL_ERROR", "retry");
    }
  });

  test("a configuration past its maximum age: INTERNAL_ERROR with a retry [LB-REJECT-6] [CF-05]", async () => {
    const active = vectorSnapshot();
    const lastMoment = active.signedAt + active.maximumAge;
    for (const type of requestTypes) {
      const asked = request(type, fields("live"));
      const fresh = redirectorOf(active, { now: () => lastMoment });
      assert.ok((await answerTo(fresh, asked)).redirect);
      const stale = redirectorOf(active, { now: () => lastMoment + 1 });
      assertRejects(await answerTo(stale, asked), "INTERNAL_ERROR", "retry");
    }
  });

  test("no configuration yet: INTERNAL_ERROR with a retry, never DOES_NOT_EXIST [LB-S41] [LB-A24]", async () => {
    for (const type of requestTypes) {
      const answer = await answerTo(redirectorOf(undefined), request(type, fields("live")));
      assertRejects(answer, "INTERNAL_ERROR", "retry");
    }
  });

  test("reserved namespaces: DOES_NOT_EXIST for every type, even under an empty prefix [LB-S3] [LB-S4] [LB-A16] [NS-14]", async () => {
    const redirector = redirectorOf(activate(snapshotOf([pinned("r1")])));
    for (const type of requestTypes) {
      for (const first of [".", ".session"]) {
        const answer = await answerTo(redirector, request(type, fields(first, "x"), utf8("n")));
        assertRejects(answer, "DOES_NOT_EXIST", "final");
      }
    }
    for (const id of ["res-dot-sub", "res-dot-pubns"]) {
      const answer = await answerTo(redirector, vectorRequest(id));
      assertRejects(answer, "DOES_NOT_EXIST", "final");
    }
  });

  test("other names that begin with a dot are routed like any [NS-16]", async () => {
    const redirector = redirectorOf(activate(snapshotOf([pinned("r1")])));
    assert.ok((await answerTo(redirector, vectorRequest("res-other"))).redirect);
  });

  test("the empty namespace needs a route with an empty prefix [NS-04] [NS-05] [LB-PREFIX-6] [LB-S5]", async () => {
    const without = redirectorOf(vectorSnapshot());
    const within = redirectorOf(activate(snapshotOf([hashed([], { rids: ["r1", "r2"] })])));
    for (const id of ["ns-zero-sub", "subns-empty", "subtracks-empty"]) {
      assertRejects(await answerTo(without, vectorRequest(id)), "DOES_NOT_EXIST", "final");
      // Reference vector 3: of r1 and r2, the single byte 00 selects r2.
      const { redirect } = await answerTo(within, vectorRequest(id));
      assert.equal(redirect?.connectUri, "https://r2.example/moq");
    }
  });

  test("a joining FETCH: INVALID_JOINING_REQUEST_ID, without asking the policy [LB-S1] [LB-A1]", async () => {
    const redirector = redirectorOf(vectorSnapshot(), {
      authorization: { name: "nobody", authorize: () => false },
    });
    for (const draft of [18, 19] as const) {
      const answer = await answerTo(redirector, joiningFetch(), draft);
      assertRejects(answer, "INVALID_JOINING_REQUEST_ID", "final");
    }
  });

  test("Retry Intervals spread from half to one and a half of the mean [RT-04] [LB-S37]", async () => {
    const intervals = await Promise.all(
      [0, 0.5, 0.999].map(async (number) => {
        const redirector = redirectorOf(undefined, { retryAfter: 1000, random: () => number });
        const answer = await answerTo(redirector, request("SUBSCRIBE", fields("live")));
        return answer.retryInterval;
      }),
    );
    // Milliseconds and one more.
    assert.deepEqual(intervals, [501n, 1001n, 1500n]);
  });

  test("only codes of the draft's registry, and reasons without RID, URI or name, whatever comes [LB-REJECT-9] [LB-S125]", async () => {
    const seen = new Set<bigint>();
    const states = [
      vectorSnapshot(),
      undefined,
      activate(snapshotOf([pinned("r1", "live")], { r1: "unhealthy" })),
      { ...vectorSnapshot(), maximumAge: 1 },
    ];
    for (const active of states) {
      for (const granted of [true, false]) {
        for (const admitted of [true, false]) {
          const redirector = redirectorOf(active, {
            authorization: { name: "fixed", authorize: () => granted },
            rateLimit: () => admitted,
          });
          for (const draft of allDrafts) {
            for (const type of requestTypes) {
              for (const first of ["live", ".", "secret-name"]) {
                const asked = request(type, fields(first));
                const answer = await answerTo(redirector, asked, draft);
                seen.add(answer.errorCode);
                assert.ok(registered(answer.errorCode, draft), `0x${answer.errorCode}`);
                assert.doesNotMatch(answer.errorReason, /r[12]|example|\/\/|secret|live/);
              }
            }
          }
        }
      }
    }
    const names = ["INTERNAL_ERROR", "UNAUTHORIZED", "NOT_SUPPORTED", "EXCESSIVE_LOAD"] as const;
    for (const name of [...names, "DOES_NOT_EXIST", "UNINTERESTED", "REDIRECT"] as const) {
      assert.ok(seen.has(requestErrorCodes[name]), name);
    }
  });

  function registered(code: bigint, draft: Draft): boolean {
    const absent: readonly RequestErrorName[] = draftFacts[draft].absentCodes.request;
    return Object.entries(requestErrorCodes).some(
      ([name, value]) => value === code && !absent.includes(name as RequestErrorName),
    );
  }
});

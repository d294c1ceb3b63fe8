import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type AuthorizationPolicy,
  ConfigurationError,
  type DecisionEvent,
  decisionLog,
  type RedirectorOptions,
  type Requester,
} from "../../../src/moq-lb/mod.ts";
import type { RoutableRequest } from "../../../src/moqt/mod.ts";
import type { ActiveSnapshot } from "../../../src/snapshot/mod.ts";
import { fields, now, request } from "../routing/fixtures.ts";
import { answerTo, redirectorOf, vectorSnapshot } from "./fixtures.ts";

/** The events of one request. */
async function eventsOf(
  asked: RoutableRequest,
  options: Partial<RedirectorOptions> = {},
  requester?: Requester,
  active: ActiveSnapshot | undefined = vectorSnapshot(),
): Promise<DecisionEvent[]> {
  const events: DecisionEvent[] = [];
  const redirector = redirectorOf(active, {
    onDecision: (event) => events.push(event),
    ...options,
  });
  await redirector.decide(asked, 22, requester);
  return events;
}

function refusing(reason?: string): AuthorizationPolicy {
  return {
    name: "refusing",
    authorize: () => (reason === undefined ? false : { granted: false, reason }),
  };
}

const subscribe = request("SUBSCRIBE", fields("live"), utf8("v"));

describe("decision events", () => {
  test("tell type, draft, outcome, cause, relay, version and duration of a placement", async () => {
    let time = now;
    assert.deepEqual(await eventsOf(subscribe, { now: () => time++ }), [
      {
        requestType: "SUBSCRIBE",
        draft: 22,
        outcome: "REDIRECT",
        cause: "placed",
        relay: "r2",
        version: 1,
        duration: 2,
      },
    ]);
  });

  test("tell why a request was refused", async () => {
    const base = { requestType: "SUBSCRIBE", draft: 22, version: 1, duration: 0 };
    assert.deepEqual(await eventsOf(request("SUBSCRIBE", fields("other"))), [
      { ...base, outcome: "DOES_NOT_EXIST", cause: "no-route" },
    ]);
    assert.deepEqual(await eventsOf(subscribe, { authorization: refusing("token-expired") }), [
      { ...base, outcome: "UNAUTHORIZED", cause: "unauthorized", reason: "token-expired" },
    ]);
    assert.deepEqual(await eventsOf(subscribe, { rateLimit: () => false }), [
      { ...base, outcome: "EXCESSIVE_LOAD", cause: "rate-limit" },
    ]);
  });

  test("tell the duration to the microsecond, and never less than nothing", async () => {
    const durations = async (...readings: number[]) => {
      const events = await eventsOf(subscribe, { now: () => readings.shift() as number });
      return events.map(({ duration }) => duration);
    };
    assert.deepEqual(await durations(0, 0, 0.0624), [0.062]);
    assert.deepEqual(await durations(0.1, 0.1, 0.1 + 0.2), [0.2]);
    assert.deepEqual(await durations(5, 5, 0), [0]);
  });

  test("have no version before the first snapshot", async () => {
    const events: DecisionEvent[] = [];
    const redirector = redirectorOf(undefined, { onDecision: (event) => events.push(event) });
    await redirector.decide(subscribe, 22);
    assert.deepEqual(
      events.map(({ cause, version }) => [cause, version]),
      [["no-configuration", undefined]],
    );
  });

  test("have no name unless names are asked for, and then a cut and escaped one [LB-SEC-34]", async () => {
    const marker = "\u001b[31mmarker\n";
    const asked = request("SUBSCRIBE", [utf8(marker), new Uint8Array(4000)], utf8("v"));
    assert.ok(!JSON.stringify(await eventsOf(asked)).includes("marker"));

    const [event] = await eventsOf(asked, { logNames: true });
    const name = event?.name ?? "";
    assert.ok(name.startsWith(".1b.5b31mmarker.0a-.00.00"));
    assert.match(name, /^[\w.-]+…$/);
    assert.equal(name.length, 100);

    const [whole] = await eventsOf(subscribe, { logNames: true });
    assert.equal(whole?.name, "live--v");
  });

  test("never hold a token, whoever brings it up [LB-SEC-17]", async () => {
    const marker = "s3cr3t-marker";
    const requester = {
      bearerToken: marker,
      tokens: [{ tokenType: 0n, tokenValue: utf8(marker) }],
    };
    const careless: AuthorizationPolicy["authorize"][] = [
      () => ({ granted: false, reason: `bad token ${marker}` }),
      () => {
        throw new Error(marker);
      },
      () => Promise.reject(Object.assign(new Error(marker), { code: marker, name: marker })),
      () => Promise.reject({ code: marker }),
    ];
    for (const authorize of careless) {
      const authorization = { name: "careless", authorize };
      const events = await eventsOf(subscribe, { authorization, logNames: true }, requester);
      assert.equal(events.length, 1);
      assert.ok(!JSON.stringify(events).includes(marker));
    }
    const [event] = await eventsOf(subscribe, { authorization: refusing(`bad ${marker}`) });
    assert.equal(event?.reason, "unspecified");
  });

  test("change no answer, even where the hook throws or rejects", async () => {
    for (const onDecision of [
      () => {
        throw new Error("disk full");
      },
      () => Promise.reject(new Error("disk full")) as unknown as undefined,
    ]) {
      const redirector = redirectorOf(vectorSnapshot(), { onDecision });
      assert.ok((await answerTo(redirector, subscribe)).redirect);
    }
  });
});

describe("decision log", () => {
  test("has somewhere to write to, or there is none", () => {
    for (const [write, clock] of [[undefined], ["stdout"], [() => {}, 5]] as unknown[][]) {
      const make = () => decisionLog(write as () => void, clock as () => number);
      assert.throws(make, ConfigurationError);
    }
  });

  test("writes each decision as one line of JSON with its time", async () => {
    const lines: string[] = [];
    await eventsOf(request("PUBLISH", fields("a\nb")), {
      logNames: true,
      onDecision: decisionLog(
        (line) => lines.push(line),
        () => Date.UTC(2026, 10, 29),
      ),
    });
    assert.equal(lines.length, 1);
    assert.doesNotMatch(lines[0] as string, /\n/);
    assert.deepEqual(JSON.parse(lines[0] as string), {
      time: "2026-11-29T00:00:00.000Z",
      event: "decision",
      requestType: "PUBLISH",
      draft: 22,
      outcome: "UNINTERESTED",
      cause: "no-route",
      version: 1,
      name: "a.0ab--",
      duration: 0,
    });
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { type Draft, drafts, type NewRequest, requestTypes } from "../../../../src/moqt/mod.ts";
import type { IncomingRequest, OutgoingRequest } from "../../../../src/session/mod.ts";
import {
  grantOf,
  type Peer,
  ProxyBed,
  type ProxyBedOptions,
  requestFor,
  requestOk,
  settle,
} from "./bed.ts";

/** Numbers in [0, 1) that are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Peers that do anything that the protocol allows, in any order. */
class Play {
  readonly bed: ProxyBed;
  readonly made: { readonly request: OutgoingRequest; isGranted: boolean }[] = [];
  readonly got: { readonly request: IncomingRequest; isAnswered: boolean }[] = [];
  readonly random: () => number;
  readonly #draft: Draft;
  /** What the next track is called, and its alias. */
  #count = 100n;

  constructor(draft: Draft, options: ProxyBedOptions = {}) {
    this.random = numbers(draft);
    this.#draft = draft;
    this.bed = new ProxyBed({
      draft,
      limits: { holdTime: 10, backendIdleTimeout: 10 },
      ...options,
    });
    const watch = (peer: Peer) => {
      peer.onRequest = (request) => {
        this.got.push({ request, isAnswered: false });
        grantUpdates(request);
      };
    };
    this.bed.onRelay = watch;
    watch(this.bed.client);
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  /** Relays whose sessions are open. */
  get relays(): Peer[] {
    return this.bed.dialled.map(({ relay }) => relay).filter(({ session }) => !session.isOver);
  }

  readonly asks = () => this.#ask(this.bed.client);

  readonly relayAsks = () => {
    const relay = this.pick(this.relays);
    if (relay !== undefined) this.#ask(relay);
  };

  readonly answers = () => {
    const waiting = this.got.filter(({ request, isAnswered }) => !request.isOver && !isAnswered);
    const chosen = this.pick(waiting);
    if (chosen === undefined) return;
    chosen.isAnswered = true;
    const grant = grantOf(chosen.request.message.type);
    if (this.random() < 0.3) chosen.request.refuse(refusal);
    else if (grant.type !== "SUBSCRIBE_OK") chosen.request.send(grant);
    else chosen.request.send({ ...grant, trackAlias: this.#count++ });
  };

  readonly requesterCancels = () => {
    this.pick(this.made.filter(({ request }) => !request.isOver))?.request.cancel(this.#code());
  };

  readonly responderCancels = () => {
    this.pick(this.got.filter(({ request }) => !request.isOver))?.request.cancel(this.#code());
  };

  readonly updates = () => {
    const open = this.made.filter(({ request, isGranted }) => {
      const { type } = request.message;
      return !request.isOver && isGranted && type !== "PUBLISH" && type !== "TRACK_STATUS";
    });
    this.pick(open)
      ?.request.update([])
      .catch(() => {});
  };

  readonly publisherIsThrough = () => {
    const open = this.got.filter(
      ({ request, isAnswered }) =>
        !request.isOver && isAnswered && request.message.type === "SUBSCRIBE",
    );
    const streamCount = BigInt(Math.floor(this.random() * 2));
    const done = { type: "PUBLISH_DONE", statusCode: 2n, streamCount, errorReason: "" } as const;
    this.pick(open)?.request.send(done);
  };

  readonly relayIsLost = () => this.pick(this.relays)?.session.close("INTERNAL_ERROR");

  readonly relayLeaves = () => {
    const relay = this.pick(this.relays);
    try {
      relay?.session.goaway({ timeout: 400 });
    } catch {
      // It has said so before.
    }
  };

  readonly rotates = () => {
    const routes = ["live", "vod"].map((field) => ({
      prefix: [field],
      kind: "hashed",
      rids: this.pick([["r1"], ["r2"], ["r1", "r2"], ["r1", "r2", "r3"]]),
    }));
    this.bed.rotate(routes);
  };

  /** Does `steps` at random, and looks at the state in between. */
  async run(count: number, steps: readonly (() => unknown)[]): Promise<void> {
    for (let step = 0; step < count; step++) {
      this.pick(steps)?.();
      if (this.random() < 0.5) continue;
      await settle();
      assert.deepEqual(this.bed.faults, [], `step ${step}`);
      const { proxySession, client } = this.bed;
      assert.equal(proxySession.openRequests, client.session.openRequests, `step ${step}`);
      assert.ok(proxySession.openRequests <= this.bed.proxied.mappings.size, `step ${step}`);
    }
  }

  /** Gives all up; then nothing is to be left anywhere. */
  async end(): Promise<void> {
    const { bed } = this;
    assert.ok(this.got.length > 30);
    for (const { request } of this.made) request.cancel();
    await bed.pass(1000);
    assert.equal(bed.proxied.mappings.size, 0);
    assert.equal(bed.proxySession.openRequests, 0);
    for (const { session } of this.relays) assert.equal(session.openRequests, 0);
    const { waiting, displaced } = bed.proxied.counts;
    assert.deepEqual([waiting, displaced], [0, 0]);
    assert.deepEqual([bed.faults, bed.client.faults], [[], []]);
    for (const { relay } of bed.dialled) assert.deepEqual(relay.faults, []);
    assert.equal(bed.proxySession.isOver, false);
  }

  #ask(peer: Peer): void {
    const trackAlias = this.#count++;
    const name = `${this.pick(["live", "vod"])}-n${trackAlias}`;
    const type = this.pick(requestTypes) as (typeof requestTypes)[number];
    const details = requestFor(type, name, this.#draft);
    const asked = details.type === "PUBLISH" ? { ...details, trackAlias } : details;
    let request: OutgoingRequest;
    try {
      request = peer.session.request(asked as NewRequest);
    } catch {
      // The other end wants no more.
      return;
    }
    grantUpdates(request);
    const entry = { request, isGranted: false };
    this.made.push(entry);
    request.answer.then(
      ({ type: answer }) => {
        entry.isGranted = answer !== "REQUEST_ERROR";
      },
      () => {},
    );
  }

  #code(): bigint {
    return BigInt(Math.floor(this.random() * 100));
  }
}

const refusal = {
  type: "REQUEST_ERROR",
  errorCode: 1n,
  retryInterval: 0n,
  errorReason: "",
} as const;

function grantUpdates(request: IncomingRequest | OutgoingRequest): void {
  request.onMessage = (message) => {
    if (message.type === "REQUEST_UPDATE") request.send(requestOk);
  };
}

describe("whatever the peers do", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: each open request of one leg has its partner on the other, and none is left over [LB-PMAP-2] [LB-PMAP-7] [LB-PMAP-14]`, async () => {
      const play = new Play(draft);
      const { asks, relayAsks, answers, requesterCancels, responderCancels } = play;
      const { updates, publisherIsThrough } = play;
      const partners = () => {
        const { proxied, dialled } = play.bed;
        const towardsRelays = dialled.map(({ relay }) => relay.session.openRequests);
        // Requests whose objects are waited for may be over on one leg or both.
        const sum = towardsRelays.reduce((left, right) => left + right, 0);
        assert.ok(sum <= proxied.mappings.size + play.made.length);
      };
      await play.run(200, [
        asks,
        relayAsks,
        answers,
        requesterCancels,
        responderCancels,
        updates,
        publisherIsThrough,
        partners,
      ]);
      await play.end();
    });

    for (const reissues of [true, false]) {
      const how = reissues ? "makes requests again" : "asks for all of them";
      test(`draft ${draft}: relays are lost, leave and are exchanged under all that, and a balancer that ${how} leaves nothing over [LB-PMAP-11] [LB-PMOVE-19] [LB-PMOVE-24]`, async () => {
        const play = new Play(draft, { proxy: { reissues, drainDeadline: 300 } });
        const { asks, relayAsks, answers, requesterCancels, responderCancels, updates } = play;
        const { publisherIsThrough, relayIsLost, relayLeaves, rotates } = play;
        const often = [asks, asks, relayAsks, answers, answers, answers];
        const peers = [requesterCancels, responderCancels, updates, publisherIsThrough];
        const relays = [relayIsLost, relayLeaves, rotates, rotates];
        for (let round = 0; round < 8; round++) {
          await play.run(round === 0 ? 120 : 30, [...often, ...often, ...peers, ...relays]);
          await play.bed.pass(50);
        }
        await play.end();
      });
    }
  }
});

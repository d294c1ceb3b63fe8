import assert from "node:assert/strict";
import { describe, test } from "#test";
import { drafts, type NewRequest, requestTypes } from "../../../../src/moqt/mod.ts";
import type { IncomingRequest, OutgoingRequest } from "../../../../src/session/mod.ts";
import { grantOf, type Peer, ProxyBed, requestFor, requestOk, settle } from "./bed.ts";

/** Numbers in [0, 1) that are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Both ends of a peer's requests. */
interface Held {
  readonly own: { readonly request: OutgoingRequest; isGranted: boolean }[];
  readonly theirs: { readonly request: IncomingRequest; isAnswered: boolean }[];
}

describe("whatever the peers do", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: each open request of one leg has its partner on the other, and none is left over [LB-PMAP-2] [LB-PMAP-7] [LB-PMAP-14]`, async () => {
      const random = numbers(draft);
      const pick = <Item>(items: readonly Item[]) =>
        items[Math.floor(random() * items.length)] as Item;
      const bed = new ProxyBed({ draft, limits: { holdTime: 10, backendIdleTimeout: 10 } });
      const held: Held = { own: [], theirs: [] };
      const watch = (peer: Peer) => {
        peer.onRequest = (request) => {
          held.theirs.push({ request, isAnswered: false });
          request.onMessage = (message) => {
            if (message.type === "REQUEST_UPDATE") request.send(requestOk);
          };
        };
      };
      bed.onRelay = watch;
      watch(bed.client);
      let alias = 100n;
      const ask = (peer: Peer) => {
        const details = requestFor(pick(requestTypes), `${pick(["live", "vod"])}-n${alias}`, draft);
        const asked = details.type === "PUBLISH" ? { ...details, trackAlias: alias++ } : details;
        const request = peer.session.request(asked as NewRequest);
        request.onMessage = (message) => {
          if (message.type === "REQUEST_UPDATE") request.send(requestOk);
        };
        const entry = { request, isGranted: false };
        held.own.push(entry);
        request.answer.then(
          ({ type }) => {
            entry.isGranted = type !== "REQUEST_ERROR";
          },
          () => {},
        );
      };
      const steps: (() => void)[] = [
        () => ask(bed.client),
        () => {
          const { relay } = bed.dialled.length > 0 ? pick(bed.dialled) : {};
          if (relay !== undefined) ask(relay);
        },
        () => {
          const waiting = held.theirs.filter(
            ({ request, isAnswered }) => !request.isOver && !isAnswered,
          );
          if (waiting.length === 0) return;
          const chosen = pick(waiting);
          chosen.isAnswered = true;
          const { type } = chosen.request.message;
          const grant = grantOf(type);
          if (random() < 0.3) {
            const error = {
              type: "REQUEST_ERROR",
              errorCode: 1n,
              retryInterval: 0n,
              errorReason: "",
            } as const;
            chosen.request.refuse(error);
          } else if (grant.type === "SUBSCRIBE_OK") {
            chosen.request.send({ ...grant, trackAlias: alias++ });
          } else chosen.request.send(grant);
        },
        () => {
          const open = held.own.filter(({ request }) => !request.isOver);
          if (open.length > 0) pick(open).request.cancel(BigInt(Math.floor(random() * 100)));
        },
        () => {
          const open = held.theirs.filter(({ request }) => !request.isOver);
          if (open.length > 0) pick(open).request.cancel(BigInt(Math.floor(random() * 100)));
        },
        () => {
          const open = held.own.filter(
            ({ request, isGranted }) =>
              !request.isOver &&
              isGranted &&
              request.message.type !== "PUBLISH" &&
              request.message.type !== "TRACK_STATUS",
          );
          if (open.length > 0)
            void pick(open)
              .request.update([])
              .catch(() => {});
        },
        () => {
          const done = held.theirs.filter(
            ({ request, isAnswered }) =>
              !request.isOver && isAnswered && request.message.type === "SUBSCRIBE",
          );
          if (done.length === 0) return;
          const streamCount = BigInt(Math.floor(random() * 2));
          pick(done).request.send({
            type: "PUBLISH_DONE",
            statusCode: 2n,
            streamCount,
            errorReason: "",
          });
        },
      ];
      for (let step = 0; step < 200; step++) {
        pick(steps)();
        if (random() < 0.5) continue;
        await settle();
        const { mappings } = bed.proxied;
        const towardsRelays = bed.dialled.reduce(
          (sum, { relay }) => sum + relay.session.openRequests,
          0,
        );
        // Requests whose objects are waited for may be over on one leg or both.
        assert.ok(bed.proxySession.openRequests <= mappings.size, `client's leg at ${step}`);
        assert.ok(towardsRelays <= mappings.size, `relays' legs at ${step}`);
        assert.equal(bed.proxySession.openRequests, bed.client.session.openRequests);
        assert.deepEqual(bed.faults, []);
      }
      assert.ok(held.theirs.length > 30);
      for (const { request } of held.own) request.cancel();
      await bed.pass(100);
      assert.equal(bed.proxied.mappings.size, 0);
      assert.equal(bed.proxySession.openRequests, 0);
      for (const { relay } of bed.dialled) assert.equal(relay.session.openRequests, 0);
      assert.equal(bed.proxied.counts.waiting, 0);
      assert.deepEqual(bed.client.faults, []);
      assert.equal(bed.proxySession.isOver, false);
    });
  }
});

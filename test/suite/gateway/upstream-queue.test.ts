import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { type Offer, PlacementQueue } from "../../../src/gateway/upstream/placement-queue.ts";

interface Waiting {
  readonly name: string;
}

/** A queue of named requests, and what is served of it. */
function bed() {
  const queue = new PlacementQueue<string, Waiting>();
  const served: string[] = [];
  const add = (client: string, name: string, need?: unknown) => {
    const waiting = { name };
    queue.add(waiting, client, need);
    return waiting;
  };
  /** Serves `places` requests; `offer` may say otherwise for one. */
  const serve = (
    places: number,
    {
      offer = () => undefined,
      hasItsShare = () => false,
    }: {
      offer?: (name: string, client: string) => Offer | undefined;
      hasItsShare?: (client: string) => boolean;
    } = {},
  ) => {
    let left = places;
    queue.serve({
      offer(waiting, lane) {
        const otherwise = offer(waiting.name, lane.client);
        if (otherwise !== undefined) return otherwise;
        if (left === 0) return "full";
        left--;
        queue.remove(waiting);
        served.push(waiting.name);
        return "taken";
      },
      hasItsShare,
    });
  };
  return { queue, served, add, serve };
}

describe("the queue for places", () => {
  test("serves clients in turn, and each client's requests in their order [CG-SEC-10]", () => {
    const { served, add, serve } = bed();
    for (const name of ["b1", "b2", "b3", "b4"]) add("B", name);
    for (const name of ["a1", "a2"]) add("A", name);
    add("C", "c1");
    serve(100);
    assert.deepEqual(served, ["b1", "a1", "c1", "b2", "a2", "b3", "b4"]);
  });

  test("goes on where it stopped, so that no turn is lost [CG-SEC-10]", () => {
    const { served, add, serve } = bed();
    for (const client of ["A", "B", "C"]) {
      for (const index of [1, 2]) add(client, `${client}${index}`);
    }
    for (let round = 0; round < 6; round++) serve(1);
    assert.deepEqual(served, ["A1", "B1", "C1", "A2", "B2", "C2"]);
  });

  test("those who have their share come after those who have not [CG-SEC-10, J03]", () => {
    const { served, add, serve } = bed();
    for (const name of ["b1", "b2"]) add("B", name);
    for (const name of ["a1", "a2"]) add("A", name);
    const hasItsShare = (client: string) => client === "B";
    serve(3, { hasItsShare });
    assert.deepEqual(served, ["a1", "a2", "b1"]);
  });

  test("what cannot go now holds up nobody, its own client's other needs included [CG-S11]", () => {
    const { served, add, serve, queue } = bed();
    add("A", "a-private", "private");
    add("A", "a1");
    add("B", "b1");
    serve(10, { offer: (name) => (name === "a-private" ? "unsuitable" : undefined) });
    assert.deepEqual(served, ["a1", "b1"]);
    assert.equal(queue.size, 1);
  });

  test("a parked lane is not asked again until something changes about its client", () => {
    const { served, add, serve, queue } = bed();
    add("B", "b1");
    add("A", "a1");
    let asked = 0;
    const offer = (_name: string, client: string) => {
      if (client !== "B") return undefined;
      asked++;
      return "parked" as const;
    };
    serve(10, { offer });
    serve(10, { offer });
    assert.equal(asked, 1);
    assert.equal(queue.ready, 0);
    add("B", "b2");
    assert.equal(queue.ready, 0);
    assert.equal(queue.unpark("B"), true);
    assert.equal(queue.ready, 2);
    serve(10);
    assert.deepEqual(served, ["a1", "b1", "b2"]);
    assert.equal(queue.unpark("B"), false);
  });

  test("stops asking where there is no place for anyone", () => {
    const { add, serve } = bed();
    for (let index = 0; index < 100; index++) add(`c${index}`, `${index}`);
    let asked = 0;
    serve(0, {
      offer: () => {
        asked++;
        return undefined;
      },
    });
    assert.equal(asked, 1);
  });

  test("keeps its books whatever happens, and loses nobody", () => {
    const step = fc.record({
      act: fc.constantFrom("add", "remove", "serve", "park", "unpark"),
      client: fc.constantFrom("A", "B", "C"),
      need: fc.constantFrom(undefined, "x"),
      count: fc.nat({ max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { queue, served, add, serve } = bed();
        const waiting = new Map<string, Waiting>();
        let names = 0;
        for (const { act, client, need, count } of steps) {
          if (act === "add") {
            const name = `${++names}`;
            waiting.set(name, add(client, name, need));
          } else if (act === "remove") {
            const [first] = waiting.values();
            if (first === undefined) continue;
            assert.equal(queue.remove(first), true);
            assert.equal(queue.remove(first), false);
            waiting.delete(first.name);
          } else if (act === "serve") {
            serve(count);
            for (const name of served.splice(0)) assert.equal(waiting.delete(name), true);
          } else if (act === "park") {
            const lane = queue.laneFor(client, need);
            if (lane !== undefined) queue.park(lane);
          } else queue.unpark(client);
          assert.equal(queue.size, waiting.size);
          assert.deepEqual([...queue.arrivals], [...waiting.values()]);
          const ready = [...queue.readyLanes].reduce((sum, lane) => sum + lane.waiting.size, 0);
          assert.equal(queue.ready, ready);
          for (const lane of queue.readyLanes) assert.ok(lane.waiting.size > 0);
        }
        for (const client of ["A", "B", "C"]) queue.unpark(client);
        serve(1_000);
        assert.equal(served.length, waiting.size);
        assert.deepEqual([queue.size, queue.ready, queue.clients], [0, 0, 0]);
      }),
    );
  });
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { BlockedStreams } from "../../../src/quic/quiche/engine/blocked-streams.ts";
import {
  EngineStream,
  FIRST,
  orderOf,
  quicheUrgency,
} from "../../../src/quic/quiche/engine/stream.ts";

function stream(id: number, order = FIRST): EngineStream {
  const made = new EngineStream(id, false, true, false);
  made.order = order;
  return made;
}

const byte = fc.nat({ max: 255 });

describe("streams that wait for quiche", () => {
  test("come by urgency, then by rank, those without either first", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.tuple(byte, byte)), { maxLength: 30 }), (priorities) => {
        const blocked = new BlockedStreams();
        priorities.forEach((priority, id) => {
          blocked.add(stream(id, priority === null ? FIRST : orderOf(...priority)));
        });
        // Array.prototype.sort is stable: equals stay in order of arrival.
        const expected = priorities
          .map((priority, id) => ({ id, key: priority ?? [-1, -1] }))
          .sort((a, b) => a.key[0] - b.key[0] || a.key[1] - b.key[1])
          .map(({ id }) => id);
        assert.deepEqual(
          blocked.inOrder().map(({ id }) => id),
          expected,
        );
      }),
    );
  });

  test("are there once, and gone when they are deleted", () => {
    const blocked = new BlockedStreams();
    const [one, other] = [stream(3, orderOf(1, 2)), stream(7, orderOf(1, 2))];
    for (const each of [one, other, one]) blocked.add(each);
    assert.deepEqual([blocked.size, blocked.has(one), blocked.has(stream(3))], [2, true, false]);
    assert.deepEqual(blocked.inOrder(), [one, other]);
    assert.deepEqual([blocked.delete(one), blocked.delete(one)], [true, false]);
    blocked.add(one);
    assert.deepEqual(blocked.inOrder(), [other, one]);
    blocked.clear();
    assert.deepEqual([blocked.size, blocked.inOrder()], [0, []]);
  });

  test("are before those with a larger place only", () => {
    const blocked = new BlockedStreams();
    const middle = stream(3, orderOf(1, 2));
    blocked.add(middle);
    assert.equal(blocked.haveBefore(stream(7, orderOf(1, 3))), true);
    assert.equal(blocked.haveBefore(stream(7, orderOf(1, 2))), false);
    assert.equal(blocked.haveBefore(stream(7, orderOf(1, 1))), false);
    assert.equal(blocked.haveBefore(stream(7)), false);
    blocked.delete(middle);
    assert.equal(blocked.haveBefore(stream(7, orderOf(1, 3))), false);
  });

  test("have their places in quiche too, as far as it can tell them apart, behind those without", () => {
    assert.equal(quicheUrgency(FIRST), 127);
    assert.equal(quicheUrgency(orderOf(0, 0)), 128);
    assert.equal(quicheUrgency(orderOf(128, 128)), 128 + 64 + 4);
    assert.equal(quicheUrgency(orderOf(255, 255)), 255);
    fc.assert(
      fc.property(byte, byte, byte, byte, (urgency, rank, otherUrgency, otherRank) => {
        const [a, b] = [orderOf(urgency, rank), orderOf(otherUrgency, otherRank)];
        // Urgencies in one class of quiche's are not told apart there: there the ranks count.
        if (urgency >> 4 !== otherUrgency >> 4) {
          assert.equal(quicheUrgency(a) < quicheUrgency(b), a < b);
        } else if (rank >> 5 !== otherRank >> 5) {
          assert.equal(quicheUrgency(a) < quicheUrgency(b), rank < otherRank);
        } else assert.equal(quicheUrgency(a), quicheUrgency(b));
      }),
    );
  });
});

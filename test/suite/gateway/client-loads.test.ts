import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { ClientLoads } from "../../../src/gateway/upstream/client-loads.ts";

describe("what waits of each client", () => {
  test("is added up, and who has most of it is known at any time [CG-S11]", () => {
    const change = fc.record({
      client: fc.constantFrom("a", "b", "c", "d"),
      bytes: fc.integer({ min: 0, max: 100_000 }),
      leaves: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
        const loads = new ClientLoads<string>();
        const waiting = new Map<string, number[]>();
        for (const { client, bytes, leaves } of changes) {
          const own = waiting.get(client) ?? [];
          waiting.set(client, own);
          const left = leaves ? own.pop() : undefined;
          if (left !== undefined) loads.change(client, -1, -left);
          else {
            own.push(bytes);
            loads.change(client, 1, bytes);
          }
          const bytesOf = (name: string) =>
            (waiting.get(name) ?? []).reduce((sum, n) => sum + n, 0);
          const countOf = (name: string) => waiting.get(name)?.length ?? 0;
          for (const name of waiting.keys()) {
            assert.deepEqual(loads.of(name), { requests: countOf(name), bytes: bytesOf(name) });
          }
          const most = Math.max(...[...waiting.keys()].map(countOf));
          const busiest = loads.greatest("requests");
          assert.equal(busiest === undefined ? 0 : countOf(busiest), most);
          const mostBytes = Math.max(...[...waiting.keys()].map(bytesOf));
          const heaviest = loads.greatest("bytes");
          if (mostBytes > 0) assert.ok(heaviest && bytesOf(heaviest) * 2 > mostBytes);
          else assert.equal(heaviest, undefined);
        }
      }),
    );
  });
});

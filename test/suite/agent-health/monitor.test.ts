import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { type Monitored, observe, unprobed } from "../../../src/agent/health/monitor.ts";

const settings = { interval: 1_000, fall: 3, rise: 2 };

/** The verdicts after each result of a trace: `+` a success, `-` a failure, one every second. */
function verdicts(trace: string, from: Monitored = unprobed(settings)): string {
  let state = from;
  let out = "";
  for (const [index, result] of [...trace].entries()) {
    state = observe(state, result === "+", (index + 1) * settings.interval, settings);
    out += { unknown: "?", up: "U", down: "D" }[state.verdict];
  }
  return out;
}

function after(trace: string): Monitored {
  let state = unprobed(settings);
  for (const [index, result] of [...trace].entries()) {
    state = observe(state, result === "+", (index + 1) * settings.interval, settings);
  }
  return state;
}

describe("the monitor of a relay", () => {
  test("needs so many failures in a row to fall, and successes in a row to rise", () => {
    // fall 3, rise 2
    assert.equal(verdicts("+++---+-++++"), "UUUUUDDDDUUU");
    assert.equal(verdicts("+--+--+--+--"), "UUUUUUUUUUUU");
    assert.equal(verdicts("---+-+-+-+--"), "??DDDDDDDDDD");
  });

  test("takes an unprobed relay for up at its first success, and for down after as many failures as any", () => {
    assert.equal(verdicts("--+--+"), "??UUUU");
    assert.equal(verdicts("--------"), "??DDDDDD");
  });

  test("goes on where the last agent stopped", () => {
    assert.equal(verdicts("+-++", unprobed(settings, "down")), "DDDU");
    assert.equal(verdicts("--+---", unprobed(settings, "up")), "UUUUUD");
  });

  test("counts equal results in a row, failures as negative", () => {
    assert.deepEqual(
      ["", "+", "+++", "+++-", "----", "----+"].map((trace) => after(trace).streak),
      [0, 1, 3, -1, -4, 1],
    );
  });

  test("asks twice as many successes after each fall, up to 32 times as many", () => {
    let trace = "";
    const needed: number[] = [];
    for (let fall = 0; fall < 8; fall++) {
      trace += "---";
      needed.push(after(trace).needed);
      trace += "+".repeat(after(trace).needed);
      assert.equal(after(trace).verdict, "up");
      assert.equal(after(trace.slice(0, -1)).verdict, "down");
    }
    assert.deepEqual(needed, [2, 4, 8, 16, 32, 64, 64, 64]);
    assert.equal(after(trace).flaps, 7);
  });

  test("forgets one fall for every 120 intervals without another", () => {
    // Two falls make 4; after 119 s the third makes 8, after 120 s it makes 4 again, after 240 s 2.
    const twice = `---++---`;
    const then = (calm: number) => after(`${twice}${"+".repeat(calm - 3)}---`).needed;
    assert.deepEqual([119, 120, 239, 240, 1_000].map(then), [8, 4, 4, 2, 2]);
  });

  test("lets a relay that flaps every second change its state a few times, and no more", () => {
    // It fails three times and succeeds twice, for an hour: five times as fast as it could be.
    const hour = verdicts("+++---++".repeat(450));
    const changes = [...hour].filter((verdict, at) => at > 0 && verdict !== hour[at - 1]).length;
    // Up; down; up after 2; down; then it needs 4 in a row, and never shows more than 5.
    assert.ok(hour.endsWith("D"));
    assert.equal(changes, 5);
  });

  test("never falls more often than once in 67 probes, after the first six, for any results", () => {
    // Once fully damped: 3 failures and 64 successes.
    const runs = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 150 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(runs, (results) => {
        let state = unprobed(settings);
        let falls = 0;
        let now = 0;
        for (const [isOk, count] of results) {
          for (let probe = 0; probe < count; probe++) {
            now += settings.interval;
            const next = observe(state, isOk, now, settings);
            if (next.verdict === "down" && state.verdict !== "down") falls++;
            state = next;
          }
        }
        assert.ok(falls <= 7 + now / settings.interval / 67);
      }),
    );
  });

  test("changes at the thresholds alone, for any results", () => {
    const traces = fc.array(fc.boolean(), { maxLength: 80 });
    const thresholds = fc.record({
      fall: fc.integer({ min: 1, max: 5 }),
      rise: fc.integer({ min: 1, max: 5 }),
    });
    fc.assert(
      fc.property(traces, thresholds, (results, { fall, rise }) => {
        const own = { interval: 1_000, fall, rise };
        let state = unprobed(own, "up");
        for (const [index, isOk] of results.entries()) {
          const next = observe(state, isOk, index * 1_000, own);
          const last = (count: number) => results.slice(Math.max(0, index + 1 - count), index + 1);
          if (next.verdict !== state.verdict) {
            const run = last(next.verdict === "down" ? fall : state.needed);
            assert.ok(run.length >= (next.verdict === "down" ? fall : rise));
            assert.ok(run.every((result) => result === (next.verdict === "up")));
          } else if (next.verdict === "up") {
            assert.ok(index + 1 < fall || last(fall).some((result) => result));
          }
          state = next;
        }
      }),
    );
  });
});

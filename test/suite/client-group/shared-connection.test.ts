import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  encodeGroupControl,
  type HttpVersion,
  IntermediarySettings,
  originKey,
  Restrictions,
  restrictionScope,
  SharedConnection,
} from "../../../src/client-group/mod.ts";

const POLICY = 0xf0c2;
const GOAWAY = 0;
const BLOCK = 1;
const LIMIT = 2;
const CLEAR = 3;

/** Connections of one intermediary to one origin. */
function bed(version: HttpVersion = "h2") {
  const clock = { now: 0 };
  const restrictions = new Restrictions<string>({ now: () => clock.now });
  const attributes = {
    scheme: "https",
    host: "api.example",
    port: 443,
    validationPolicy: "public",
    protocol: version,
  };
  const connect = (policy?: number, numbers: number[] = [48_213, 907, 5, 6]) => {
    const settings = new IntermediarySettings(version);
    const connection = new SharedConnection<string>({
      settings,
      key: originKey(attributes),
      scope: restrictionScope(attributes),
      restrictions,
      random: () => numbers.shift() as number,
    });
    if (policy !== undefined) settings.receive([[POLICY, policy]]);
    const control = (group: number, action: number, value: number, boundary = 0n) =>
      connection.receive(encodeGroupControl(version, { group, value, action, boundary }), true);
    return { connection, settings, control };
  };
  return { clock, restrictions, connect };
}

const placed = (identifier: number | undefined) => ({ placed: true, identifier });
const not = (because: string) => ({ placed: false, because });

describe("a shared connection", () => {
  test("carries A as 48213 and B as 907 [CG-EX-1, CG-FIELD-6, CG-PROC-2]", () => {
    const { connection } = bed().connect(0);
    assert.deepEqual(connection.place("A"), placed(48_213));
    assert.deepEqual(connection.place("B"), placed(907));
    assert.deepEqual(connection.place("B"), placed(907));
    assert.equal(connection.identifierOf("B"), 907);
  });

  test("blocks B for a minute and leaves A alone [CG-EX-2, CG-EX-5, CG-EX-6, CG-FRAME2-1, CG-STOP-1, B13]", () => {
    const { clock, restrictions, connect } = bed();
    const { connection, control } = connect(0);
    connection.place("A");
    connection.place("B");
    assert.deepEqual(control(907, BLOCK, 60), { type: "BLOCK", client: "B" });
    assert.deepEqual(connection.place("B"), not("blocked"));
    assert.equal(restrictions.secondsBlocked("B", connection.scope), 60);
    assert.equal(connection.isUnprocessed("B", 45n), false);
    assert.deepEqual(connection.place("A"), placed(48_213));
    clock.now = 60_000;
    assert.deepEqual(connection.place("B"), placed(907));
  });

  test("moves B to a connection of its own, where it gets another identifier [CG-EX-7, CG-EX-8, CG-EX-9, CG-EX-10, CG-ACT-1, CG-GOAWAY-1, CG-GOAWAY-2, CG-GOAWAY-4, CG-GOAWAY-7, CG-S79, CG-S80, E05]", () => {
    const { connect } = bed();
    const first = connect(0);
    first.connection.place("A");
    first.connection.place("B");
    assert.deepEqual(first.control(907, GOAWAY, 1, 43n), {
      type: "GOAWAY",
      client: "B",
      alone: true,
      boundary: 43n,
    });
    for (const [stream, unprocessed] of [
      [39n, false],
      [43n, false],
      [45n, true],
    ] as const) {
      assert.equal(first.connection.isUnprocessed("B", stream), unprocessed);
    }
    assert.equal(first.connection.isUnprocessed("A", 41n), false);
    assert.equal(first.connection.isUnprocessed("A", 47n), false);
    assert.deepEqual(first.connection.place("B"), not("departed"));
    assert.deepEqual(first.connection.place("A"), placed(48_213));

    const shared = connect(0, [11, 12]);
    shared.connection.place("C");
    assert.deepEqual(shared.connection.place("B"), not("not-alone"));

    const own = connect(0, [77, 78]);
    for (let i = 0; i < 50; i++) assert.deepEqual(own.connection.place("B"), placed(77));
    assert.deepEqual(own.connection.place("A"), not("policy"));
    for (let i = 0; i < 50; i++) own.connection.end("B");
    assert.deepEqual(own.connection.place("A"), not("policy"));
  });

  test("h3: moves B by the boundary of h3 [CG-BOUND-6, CG-FRAME3-4, E06]", () => {
    const { connection, control } = bed("h3").connect(0);
    connection.place("A");
    connection.place("B");
    control(907, GOAWAY, 1, 44n);
    assert.equal(connection.isUnprocessed("B", 36n), false);
    assert.equal(connection.isUnprocessed("B", 40n), false);
    assert.equal(connection.isUnprocessed("B", 44n), true);
    assert.equal(connection.isUnprocessed("A", 44n), false);
  });

  test("with GOAWAY of Value 0 or 7 lets B share another one [CG-GOAWAY-3, CG-GOAWAY-5, CG-GOAWAY-6, CG-ACT-5]", () => {
    for (const value of [0, 7]) {
      const { connect } = bed();
      const first = connect(0);
      const second = connect(0, [11, 12]);
      first.connection.place("A");
      first.connection.place("B");
      second.connection.place("C");
      first.control(907, GOAWAY, value, 43n);
      assert.deepEqual(first.connection.place("B"), not("departed"));
      assert.deepEqual(second.connection.place("B"), placed(12));
    }
  });

  test("on which B shares starts nothing new of B once B has to be alone, and ends nothing [CG-S32]", () => {
    const { connect } = bed();
    const first = connect(0);
    const second = connect(0, [11, 12]);
    first.connection.place("A");
    first.connection.place("B");
    second.connection.place("C");
    second.connection.place("B");
    first.control(907, GOAWAY, 1, 43n);
    assert.deepEqual(second.connection.place("B"), not("not-alone"));
    assert.equal(second.connection.isUnprocessed("B", 99n), false);
    second.connection.end("B");
  });

  test("keeps the lowest boundary of a group, and of group and connection the lower [CG-GOAWAY-8, CG-S30, CG-S36, CG-A8, A12]", () => {
    const { connection, control } = bed().connect(0);
    connection.place("A");
    connection.place("B");
    control(907, GOAWAY, 0, 43n);
    const raised = control(907, GOAWAY, 0, 45n);
    assert.deepEqual(raised, { type: "GOAWAY", client: "B", alone: false, boundary: 43n });
    assert.equal(connection.isUnprocessed("B", 45n), true);
    control(907, GOAWAY, 0, 41n);
    assert.equal(connection.isUnprocessed("B", 43n), true);
    connection.goaway(39n);
    assert.equal(connection.isUnprocessed("B", 41n), true);
    assert.equal(connection.isUnprocessed("A", 41n), true);
    assert.equal(connection.isUnprocessed("A", 39n), false);
  });

  test("has B blocked on every connection, and cleared from any of them [CG-ACT-6, CG-S27, CG-S47, CG-CLEAR-1]", () => {
    const { connect } = bed();
    const first = connect(0);
    const second = connect(0, [11, 12]);
    first.connection.place("A");
    first.connection.place("B");
    second.connection.place("B");
    first.control(907, BLOCK, 60);
    assert.deepEqual(second.connection.place("B"), not("blocked"));
    assert.deepEqual(connect(0).connection.place("B"), not("blocked"));
    assert.deepEqual(second.control(11, CLEAR, 9), { type: "CLEAR", client: "B" });
    assert.deepEqual(first.connection.place("B"), placed(907));
  });

  test("lets CLEAR undo no GOAWAY [CG-CLEAR-3, CG-S46]", () => {
    const { connection, control } = bed().connect(0);
    connection.place("A");
    connection.place("B");
    control(907, BLOCK, 60);
    control(907, GOAWAY, 0, 43n);
    control(907, CLEAR, 0);
    assert.deepEqual(connection.place("B"), not("departed"));
  });

  test("limits B over all connections [CG-LIMIT-1, CG-ACT-3]", () => {
    const { connect } = bed();
    const first = connect(0, [907]);
    const second = connect(0, [11]);
    first.connection.place("B");
    first.control(907, LIMIT, 3);
    const outcomes = Array.from(
      { length: 9 },
      (_, i) => (i % 2 === 0 ? first : second).connection.place("B").placed,
    );
    assert.deepEqual(outcomes, [true, true, ...Array(7).fill(false)]);
    assert.deepEqual(second.connection.place("B"), not("limited"));
    first.connection.end("B");
    assert.deepEqual(second.connection.place("B"), placed(11));
  });

  test("ignores what it does not know: identifiers, actions, values [CG-ACT-7, CG-ACT-8, CG-FIELD-14, CG-BLOCK-4, CG-LIMIT-4, CG-S37]", () => {
    const { restrictions, connect } = bed();
    const { connection, control } = connect(0);
    connection.place("A");
    connection.place("B");
    control(907, BLOCK, 60);
    for (const [group, action, value] of [
      [1, BLOCK, 60],
      [907, 0x7f, 1],
      [907, BLOCK, 0],
      [907, BLOCK, 86_401],
      [907, LIMIT, 0],
    ] as const) {
      assert.deepEqual(control(group, action, value), { type: "ignored" });
    }
    assert.equal(restrictions.secondsBlocked("B", connection.scope), 60);
    assert.deepEqual(connect(0, [3]).control(907, GOAWAY, 0, 0n), { type: "ignored" });
    assert.deepEqual(connection.place("A"), placed(48_213));
  });

  test("hears of an idle client until it is forgotten [CG-S26, CG-A4, CG-ACT-8]", () => {
    const { connection, control } = bed().connect(0, [907, 8]);
    connection.place("B");
    assert.throws(() => connection.forget("B"), { code: "OUT_OF_ORDER" });
    connection.end("B");
    assert.deepEqual(control(907, BLOCK, 1), { type: "BLOCK", client: "B" });
    connection.forget("B");
    assert.deepEqual(control(907, CLEAR, 0), { type: "ignored" });
  });

  test("to an origin without the draft stops tagging, and may still mix [CG-PROC-6, CG-PROC-7, CG-S7, D04]", () => {
    const { connection, settings } = bed().connect();
    assert.deepEqual(connection.place("A"), placed(48_213));
    assert.deepEqual(connection.place("B"), not("policy"));
    settings.receive([]);
    assert.deepEqual(connection.place("A"), placed(undefined));
    assert.deepEqual(connection.place("B"), placed(undefined));
  });

  test("takes nothing new once GOAWAY was processed, and finishes what it has [CG-STATE-1, CG-STATE-2, CG-STATE-3, CG-STATE-5, CG-CGOAWAY-1, A10]", () => {
    const { connection } = bed().connect(0);
    connection.place("A");
    connection.place("B");
    assert.equal(connection.state, "ACTIVE");
    connection.goaway(41n);
    assert.equal(connection.state, "DRAINING");
    assert.deepEqual(connection.place("A"), not("not-active"));
    assert.deepEqual(
      [37n, 39n, 41n, 43n, 45n].map((stream) => connection.isUnprocessed("B", stream)),
      [false, false, false, true, true],
    );
    connection.end("B");
    connection.close();
    assert.equal(connection.state, "CLOSED");
    connection.drain();
    assert.equal(connection.state, "CLOSED");
    connection.end("A");
    assert.equal(connection.groupsInProgress, 0);
  });

  test("is retired in two steps: the second lowers the boundary and cannot raise it [CG-S69, CG-CGOAWAY-5, A04, A12]", () => {
    for (const [version, open, real, code] of [
      ["h2", 2n ** 31n - 1n, 1n, "PROTOCOL_ERROR"],
      ["h3", 2n ** 62n - 4n, 4n, "H3_ID_ERROR"],
    ] as const) {
      const { connection } = bed(version).connect(0);
      connection.place("A");
      connection.goaway(open);
      assert.equal(connection.state, "DRAINING");
      assert.equal(connection.isUnprocessed("A", real + 4n), false);
      connection.goaway(real);
      assert.equal(connection.isUnprocessed("A", real + 4n), true);
      assert.throws(() => connection.goaway(real + 4n), { code });
    }
  });

  test("drained by our own decision has no boundary [CG-S67]", () => {
    const { connection } = bed().connect(0);
    connection.place("A");
    connection.drain();
    assert.equal(connection.isUnprocessed("A", 2n ** 31n - 1n), false);
    assert.deepEqual(connection.place("A"), not("not-active"));
  });

  test("still hears the origin while it drains [CG-S68]", () => {
    const { restrictions, connect } = bed();
    const { connection, control } = connect(0);
    connection.place("A");
    connection.place("B");
    connection.goaway(43n);
    assert.deepEqual(control(907, BLOCK, 60), { type: "BLOCK", client: "B" });
    assert.equal(restrictions.judge("B", connection.scope), "blocked");
    connection.close();
    assert.deepEqual(control(907, CLEAR, 0), { type: "ignored" });
  });

  test("never mixes, places or forgets against a rule, whatever comes [CG-PROC-8, CG-GOAWAY-1, CG-GOAWAY-4, CG-STATE-5, CG-LIMIT-1]", () => {
    const step = fc.record({
      kind: fc.constantFrom("place", "place", "end", "depart", "alone", "limit", "clear", "goaway"),
      at: fc.integer({ min: 0, max: 2 }),
      client: fc.constantFrom("A", "B", "C"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { connect, restrictions } = bed();
        const all = [0, 1, 2].map((i) => connect(2, [100 + i, 200 + i, 300 + i]));
        const running = all.map(() => [] as string[]);
        const departed = all.map(() => new Set<string>());
        const alone = new Set<string>();
        for (const { kind, at, client } of steps) {
          const { connection, control } = all[at] as (typeof all)[number];
          const here = running[at] as string[];
          const group = connection.identifierOf(client);
          if (kind === "place") {
            const { state } = connection;
            const limit = restrictions.limitOf(client, connection.scope);
            if (!connection.place(client).placed) continue;
            here.push(client);
            assert.equal(state, "ACTIVE");
            assert.ok(!departed[at]?.has(client));
            assert.ok(new Set(here).size <= 2);
            if (alone.has(client)) assert.deepEqual([...new Set(here)], [client]);
            const total = running.flat().filter((name) => name === client).length;
            assert.ok(limit === undefined || total <= limit);
          } else if (kind === "end" && here.includes(client)) {
            connection.end(client);
            here.splice(here.indexOf(client), 1);
          } else if (kind === "goaway" && connection.state === "ACTIVE") connection.goaway(1n);
          else if (group === undefined) continue;
          else if (kind === "depart" || kind === "alone") {
            control(group, GOAWAY, kind === "alone" ? 1 : 0, 1n);
            departed[at]?.add(client);
            if (kind === "alone") alone.add(client);
          } else if (kind === "limit") control(group, LIMIT, 1);
          else if (kind === "clear") control(group, CLEAR, 0);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("what a shared connection tells of its groups", () => {
  test("those with requests in progress, with identifier and number [CG-MAP-3]", () => {
    const { connection } = bed().connect(0);
    connection.place("A");
    connection.place("B");
    connection.place("B");
    assert.deepEqual(
      [...connection.groups()],
      [
        { client: "A", identifier: 48_213, inProgress: 1 },
        { client: "B", identifier: 907, inProgress: 2 },
      ],
    );
    connection.end("A");
    assert.deepEqual(
      [...connection.groups()].map(({ client }) => client),
      ["B"],
    );
  });

  test("who was told to leave, and whether it is one client's own [CG-GOAWAY-1, CG-GOAWAY-4]", () => {
    const { connect } = bed();
    const first = connect(0);
    first.connection.place("A");
    first.connection.place("B");
    assert.equal(first.connection.hasDeparted("B"), false);
    first.control(907, GOAWAY, 1);
    assert.equal(first.connection.hasDeparted("B"), true);
    assert.equal(first.connection.hasDeparted("A"), false);
    assert.equal(first.connection.reserved, false);
    const second = connect(0).connection;
    second.place("B");
    assert.equal(second.reserved, true);
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  type Admission,
  type ClientGroup,
  groupOf,
  OriginConnection,
  type OriginConnectionOptions,
  setGroupOf,
} from "../../../src/client-group/mod.ts";

const SHARED = 0xf0c1;

interface Bed {
  readonly connection: OriginConnection;
  readonly clock: { now: number };
  /** Frames in hexadecimal and resets as `RST stream code`, in the order they went out. */
  readonly wire: string[];
  deliver(stream: number, group?: number | string): ClientGroup;
}

function origin(options: Partial<OriginConnectionOptions> & { shared?: number } = {}): Bed {
  const { shared = 1, ...given } = options;
  const clock = { now: 1_000 };
  const wire: string[] = [];
  const connection = new OriginConnection({
    policy: 0n,
    name: "c1",
    now: () => clock.now,
    wire: {
      send: (frame) => void wire.push(toHex(frame)),
      reset: (stream, code) => void wire.push(`RST ${stream} ${code}`),
    },
    ...given,
  });
  connection.receiveSettings([[SHARED, shared]]);
  connection.settings.receive([]);
  connection.settings.settingsToSend();
  return {
    connection,
    clock,
    wire,
    deliver(stream, group = 907) {
      const admission = connection.admit(BigInt(stream), String(group));
      assert.equal(admission.do, "deliver", `stream ${stream}`);
      const found = (admission as Extract<Admission, { do: "deliver" }>).group;
      assert.ok(found, `stream ${stream} has a group`);
      return found;
    },
  };
}

const refused = (because: string) => ({ do: "refuse", because });
const ungrouped = { do: "deliver", group: undefined };

describe("a connection at the origin", () => {
  test("tells the groups of requests apart, 0 among them [CG-FIELD-1, CG-FIELD-3, CG-S12]", () => {
    const bed = origin();
    assert.equal(bed.deliver(1, 907).id, 907);
    assert.equal(bed.deliver(3, "907;x=1").key, bed.deliver(5, 907).key);
    assert.equal(bed.deliver(7, 0).id, 0);
    assert.equal(bed.deliver(9, "4294967295").id, 4_294_967_295);
    assert.notEqual(bed.deliver(11, 0).key, bed.deliver(13, 907).key);
    assert.equal(bed.deliver(15, 907).streams, 5);
    assert.equal(bed.connection.streams, 8);
  });

  test("serves a request with a missing, doubled or malformed field as ungrouped [CG-A6, CG-S16]", () => {
    const { connection } = origin();
    const fields = [undefined, null, "", "7, 8", "4294967296", "-1", "1.0", '"1"', "a"];
    fields.forEach((field, index) => {
      assert.deepEqual(connection.admit(BigInt(2 * index + 1), field), ungrouped, String(field));
    });
  });

  test("takes nobody's word for a group unless the connection is shared [CG-SET-2, CG-PROC-12]", () => {
    const { connection } = origin({ shared: 0 });
    assert.deepEqual(connection.admit(1n, "907"), ungrouped);
  });

  test("sends the frames of the draft's examples, and their resets [CG-EX-2, CG-EX-3, CG-EX-7, CG-FRAME2-4, CG-FRAME2-5, CG-FRAME2-7, CG-BOUND-7]", () => {
    const bed = origin();
    bed.deliver(37, 48_213);
    const group = bed.deliver(39);
    group.block(60);
    assert.equal(group.resetStreams(), 1);
    assert.deepEqual(bed.connection.admit(43n, "907"), refused("blocked"));
    assert.deepEqual(bed.connection.admit(45n, "907"), refused("blocked"));
    assert.equal(bed.deliver(47, 48_213).streams, 2);
    const other = origin();
    other.deliver(39);
    other.deliver(43).goaway({ alone: true });
    assert.deepEqual(other.connection.admit(45n, "907"), refused("departed"));
    assert.equal(other.deliver(47, 48_213).id, 48_213);
    const header = "00000df70000000000";
    assert.deepEqual(bed.wire, [`${header}0000038b0000003c0100000000`, "RST 39 8"]);
    assert.deepEqual(other.wire, [`${header}0000038b00000001000000002b`]);
  });

  test("refuses late requests of a blocked group until the time is up or it is cleared [CG-STOP-7, CG-SEC-9]", () => {
    const bed = origin();
    const group = bed.deliver(1);
    group.block(4);
    bed.clock.now += 3_999;
    assert.deepEqual(bed.connection.admit(3n, "907"), refused("blocked"));
    bed.clock.now += 1;
    bed.deliver(5).block(3600);
    assert.deepEqual(bed.connection.admit(7n, "907"), refused("blocked"));
    group.clear();
    bed.deliver(9).limit(3);
    assert.deepEqual(
      bed.wire.map((frame) => frame.slice(18)),
      [
        "0000038b000000040100000000",
        "0000038b00000e100100000000",
        "0000038b000000000300000000",
        "0000038b000000030200000000",
      ],
    );
  });

  test("takes requests that an intermediary goes on to send for those of a group that was cleared on another connection [CG-S47, CG-CLEAR-2, CG-STOP-7]", () => {
    const bed = origin();
    bed.deliver(1).block(600);
    bed.clock.now += 4_999;
    assert.deepEqual(bed.connection.admit(3n, "907"), refused("blocked"));
    bed.clock.now += 1;
    bed.deliver(5);
  });

  test("knows whether a group was ever within the LIMIT that it was told [CG-LIMIT-5]", () => {
    const bed = origin();
    const [first, second, third] = [bed.deliver(1), bed.deliver(3), bed.deliver(5)];
    assert.equal(first.isOverLimit, false);
    first.limit(3);
    assert.equal(first.isOverLimit, false);
    second.limit(1);
    assert.equal(third.isOverLimit, true);
    bed.connection.end(1n);
    assert.equal(third.isOverLimit, true);
    bed.connection.end(3n);
    assert.equal(third.isOverLimit, false);
    // More of them come: the LIMIT is one no more.
    assert.equal(bed.deliver(7).isOverLimit, false);
    third.limit(1);
    assert.equal(third.isOverLimit, true);
    third.clear();
    assert.equal(third.isOverLimit, false);
  });

  test("resets exactly the group's streams in progress, with CANCEL, the current one only if asked [CG-STOP-1, CG-STOP-2, CG-STOP-3, CG-STOP-5]", () => {
    const bed = origin();
    bed.deliver(1);
    bed.deliver(3, 48_213);
    bed.connection.end(1n);
    bed.deliver(5);
    const current = bed.deliver(7);
    assert.equal(current.resetStreams({ keepCurrent: true }), 1);
    assert.deepEqual(bed.wire, ["RST 5 8"]);
    assert.equal(current.streams, 1);
    assert.equal(current.resetStreams(), 1);
    assert.equal(current.resetStreams(), 0);
    assert.deepEqual(bed.wire, ["RST 5 8", "RST 7 8"]);
    // It is said of what there is, not of what will come.
    assert.equal(bed.deliver(9).streams, 1);
  });

  test("h3: resets with H3_REQUEST_CANCELLED and says boundaries its own way [CG-BOUND-5, CG-STOP-5]", () => {
    const wire: string[] = [];
    const connection = new OriginConnection({
      version: "h3",
      policy: 0n,
      name: "c1",
      now: () => 0,
      wire: {
        send: (frame) => void wire.push(toHex(frame)),
        reset: (stream, code) => void wire.push(`RST ${stream} ${code}`),
      },
    });
    connection.receiveSettings([[SHARED, 1]]);
    connection.settings.settingsToSend();
    const { group } = connection.admit(40n, "907") as Extract<Admission, { do: "deliver" }>;
    group?.goaway();
    assert.deepEqual(connection.admit(44n, "907"), refused("departed"));
    group?.resetStreams();
    assert.deepEqual(wire, ["40f70a0000038b00000000002c", "RST 40 268"]);
  });

  test("refuses a group beyond policy N until one of the others has none left [CG-A7, CG-SET-9]", () => {
    const bed = origin({ policy: 2n });
    bed.deliver(1, 1);
    bed.deliver(3, 2);
    assert.deepEqual(bed.connection.admit(5n, "3"), refused("policy"));
    bed.deliver(7, 2);
    assert.deepEqual(bed.connection.admit(9n, undefined), ungrouped);
    bed.connection.end(1n);
    bed.deliver(11, 3);
    assert.deepEqual(bed.connection.admit(13n, "1"), refused("policy"));
  });

  test("is under policy 1 its first group's for life [CG-SET-11, CG-A1]", () => {
    const bed = origin({ policy: 1n });
    bed.deliver(1, 0);
    bed.connection.end(1n);
    assert.deepEqual(bed.connection.admit(3n, "907"), refused("policy"));
    bed.deliver(5, 0);
  });

  test("takes any number of groups under policy 0 [CG-SET-10]", () => {
    const bed = origin();
    for (let group = 0; group < 1_000; group++) bed.deliver(2 * group + 1, group);
    assert.equal(bed.connection.streams, 1_000);
  });

  test("shows the group but says nothing of it where it sent no POLICY [CG-FRAME2-3, E15]", () => {
    const bed = origin({ policy: undefined });
    const group = bed.deliver(1);
    assert.equal(group.id, 907);
    for (const call of [
      () => group.block(60),
      () => group.limit(1),
      () => group.clear(),
      () => group.goaway(),
    ]) {
      assert.throws(call, { name: "ClientGroupError", code: "NOT_NEGOTIATED" });
    }
    assert.deepEqual(bed.wire, []);
    // Nothing was noted of what could not be sent.
    bed.deliver(3);
    assert.equal(group.resetStreams(), 2);
  });

  test("notes nothing of a frame that the intermediary would ignore [CG-ACT-2, CG-ACT-3]", () => {
    const bed = origin();
    const group = bed.deliver(1);
    for (const seconds of [0, 86_401, 1.5, Number.NaN]) {
      assert.throws(() => group.block(seconds), { code: "INVALID_FRAME" });
    }
    assert.throws(() => group.limit(0), { code: "INVALID_FRAME" });
    assert.deepEqual(bed.wire, []);
    bed.deliver(3);
  });

  test("delivers nothing once it is retired, and lets what was delivered go on [A04]", () => {
    const bed = origin();
    bed.deliver(1);
    bed.deliver(3, 48_213).goaway();
    bed.connection.retire();
    assert.deepEqual(bed.connection.admit(5n, undefined), refused("retired"));
    assert.deepEqual(bed.connection.admit(7n, "907"), refused("retired"));
    assert.equal(bed.connection.streams, 2);
  });

  test("raises no boundary of a group, and may tell it again [CG-GOAWAY-8, CG-GOAWAY-9]", () => {
    const bed = origin();
    const group = bed.deliver(43);
    group.goaway();
    assert.equal(bed.connection.admit(45n, "907").do, "refuse");
    group.goaway({ alone: true });
    bed.deliver(41).goaway();
    assert.deepEqual(
      bed.wire.map((frame) => frame.slice(18)),
      ["0000038b00000000000000002b", "0000038b00000001000000002b", "0000038b00000000000000002b"],
    );
  });

  test("that has ended takes no calls, and forgets whom it blocked", () => {
    const bed = origin();
    const group = bed.deliver(1);
    bed.connection.close();
    assert.throws(() => group.block(60), { code: "CONNECTION_CLOSED" });
    assert.equal(group.streams, 0);
    assert.equal(group.resetStreams(), 0);
    assert.deepEqual(bed.wire, []);
  });

  test("remembers a bounded number of blocks", () => {
    const bed = origin({ maximumGroups: 2 });
    for (const id of [1, 2, 3]) bed.deliver(2 * id + 1, id).block(60);
    assert.equal(bed.connection.admit(9n, "1").do, "deliver");
    assert.deepEqual(bed.connection.admit(11n, "2"), refused("blocked"));
    assert.deepEqual(bed.connection.admit(13n, "3"), refused("blocked"));
  });

  test("ends by the rules of SETTINGS [CG-SET-3, CG-PROC-10, CG-SET-14]", () => {
    assert.throws(() => origin({ shared: 2 }), { code: "PROTOCOL_ERROR" });
    const { connection } = origin();
    connection.receiveSettings([[0xf0c2, 1]]);
    connection.receiveSettings([[SHARED, 1]]);
    assert.throws(() => connection.receiveSettings([[SHARED, 0]]), { code: "PROTOCOL_ERROR" });
  });
});

describe("the group of a Request", () => {
  test("is that of the very request which an adapter made", () => {
    const group = origin().deliver(1);
    const request = new Request("https://origin.example/");
    assert.equal(groupOf(request), undefined);
    setGroupOf(request, group);
    assert.equal(groupOf(request), group);
    assert.equal(groupOf(request.clone()), undefined);
  });
});

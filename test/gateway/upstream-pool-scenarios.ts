/** Placement of requests on connections, with connections and time played by hand. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { GatewayClient } from "../../src/gateway/types.ts";
import { Http2CallError } from "../../src/http2/mod.ts";
import {
  client,
  type FakeLink,
  type Outcome,
  refused,
  target,
  turn,
  upstreamBed,
} from "./upstream-bed.ts";

const CANCEL = 8;
const REFUSED_STREAM = 7;
const A = client("A");
const B = client("B");
const C = client("C");

/** `count` requests of a client, with paths that tell them apart. */
function burst(bed: ReturnType<typeof upstreamBed>, who: typeof A, count: number): Outcome[] {
  return Array.from({ length: count }, (_, index) => bed.submit(who, `/${who.key}${index}`));
}

const declinedAs = (outcomes: readonly Outcome[]) =>
  outcomes.map(({ declined }) => declined?.because);
const opened = (outcomes: readonly Outcome[]) => outcomes.filter(({ stream }) => stream).length;

export function upstreamPoolScenarios(): void {
  describe("where requests go", placement);
  describe("the state of a shared connection", states);
  describe("what an origin imposes on one client", impositions);
  describe("fair shares and bounds", shares);
  describe("an origin that cannot be reached", reaching);
  describe("the life of connections", life);
}

function placement(): void {
  test("the first request opens a connection and later ones of anyone share it [CG-KEY-1, CG-PROC-2, CG-MAP-2]", async () => {
    const { submit, links, link } = upstreamBed();
    const first = submit(A, "/a");
    assert.equal(opened([first]), 0);
    await turn();
    const second = submit(B, "/b");
    assert.equal(links.length, 1);
    assert.deepEqual(link(0).paths, ["/a", "/b"]);
    assert.equal(first.stream?.connection, second.stream?.connection);
    assert.equal(first.stream?.identifier, link(0).groupOf("/a"));
    assert.notEqual(link(0).groupOf("/a"), link(0).groupOf("/b"));
  });

  test("another key is another connection, whatever else is equal [CG-KEY-1, CG-KEY-7, H05]", async () => {
    const { submit, links } = upstreamBed();
    submit(A, "/1");
    submit(A, "/2", { target: target("www.example") });
    submit(A, "/3", { target: target("api.example", { region: "eu" }) });
    await turn();
    assert.deepEqual(
      links.map(({ paths }) => paths),
      [["/1"], ["/2"], ["/3"]],
    );
  });

  test("before SETTINGS there is one group, and the others wait for them [CG-PROC-3, CG-PROC-4, CG-S5, D03]", async () => {
    const { submit, link, links } = upstreamBed({ policy: "hold" });
    submit(A, "/a1");
    submit(B, "/b1");
    await turn();
    submit(A, "/a2");
    assert.deepEqual(link(0).paths, ["/a1", "/a2"]);
    link(0).respond(1);
    link(0).respond(3);
    await turn();
    // That A has nothing in progress any more changes nothing.
    assert.deepEqual(link(0).paths, ["/a1", "/a2"]);
    link(0).settings(0);
    await turn();
    assert.deepEqual(link(0).paths, ["/a1", "/a2", "/b1"]);
    assert.equal(links.length, 1);
  });

  test("where SETTINGS do not come, other groups get another connection in time [CG-PROC-4, D03]", async () => {
    const { submit, links, link, pass } = upstreamBed({ policy: "hold" });
    submit(A, "/a1");
    submit(B, "/b1");
    await pass(900);
    assert.equal(links.length, 1);
    await pass(200);
    assert.equal(links.length, 2);
    assert.deepEqual(link(1).paths, ["/b1"]);
    assert.deepEqual(link(0).paths, ["/a1"]);
  });

  test("before SETTINGS a burst of one group has few streams at a time [D03]", async () => {
    const bed = upstreamBed({ policy: "hold", limits: { streamsBeforeSettings: 5 } });
    burst(bed, A, 30);
    await turn();
    assert.equal(bed.link(0).requests.length, 5);
    bed.link(0).settings(0, 100);
    await turn();
    assert.equal(bed.link(0).requests.length, 30);
  });

  test("a burst of a hundred clients opens few connections [D03]", async () => {
    const bed = upstreamBed({ policy: "hold" });
    for (let index = 0; index < 100; index++) bed.submit(client(`c${index}`), `/${index}`);
    await bed.pass(500);
    assert.equal(bed.links.length, 1);
    bed.link(0).settings(0);
    await turn();
    assert.equal(bed.link(0).requests.length, 100);
  });

  test("an origin without the draft sees no Client-Group once that is known, and is shared or not by option [CG-PROC-5, CG-PROC-6, CG-PROC-7, CG-S7, D04]", async () => {
    const shared = upstreamBed({ policy: "hold" });
    shared.submit(A, "/a1");
    await turn();
    assert.notEqual(shared.link(0).groupOf("/a1"), undefined);
    shared.link(0).settings();
    shared.submit(A, "/a2");
    shared.submit(B, "/b1");
    assert.equal(shared.link(0).groupOf("/a2"), undefined);
    assert.equal(shared.link(0).groupOf("/b1"), undefined);
    assert.equal(shared.pool.view().connections[0]?.support, "unsupported");

    const apart = upstreamBed({ policy: "none", options: { shareUnsupported: false } });
    apart.submit(A, "/a1");
    await turn();
    apart.submit(B, "/b1");
    await turn();
    assert.deepEqual(
      apart.links.map(({ paths }) => paths),
      [["/a1"], ["/b1"]],
    );
  });

  test("under policy 2 a third group goes elsewhere, and no connection ever has three [CG-PROC-8, CG-SET-9]", async () => {
    const { submit, links, link, pool } = upstreamBed({ policy: 2 });
    submit(A, "/a");
    await turn();
    submit(B, "/b");
    submit(C, "/c");
    submit(A, "/a2");
    await turn();
    assert.deepEqual(link(0).paths, ["/a", "/b", "/a2"]);
    assert.deepEqual(link(1).paths, ["/c"]);
    assert.equal(links.length, 2);
    for (const { groups } of pool.view().connections) assert.ok(groups.length <= 2);
  });

  test("under policy 1 a connection is its first group's for life [CG-SET-11, CG-S9, CG-A1, CG-S8]", async () => {
    const { submit, link } = upstreamBed({ policy: 1 });
    submit(A, "/a");
    await turn();
    link(0).respond(1);
    submit(B, "/b");
    await turn();
    submit(A, "/a2");
    assert.deepEqual(link(0).paths, ["/a", "/a2"]);
    assert.deepEqual(link(1).paths, ["/b"]);
    assert.notEqual(link(1).groupOf("/b"), undefined);
  });

  test("where policy keeps all connections taken, those who wait get one in time [CG-S11]", async () => {
    const { submit, links, link, pass, pool } = upstreamBed({
      policy: 1,
      limits: { connectionsPerKey: 2 },
    });
    submit(A, "/a");
    submit(B, "/b");
    await pass(100);
    assert.equal(links.length, 2);
    const third = submit(C, "/c");
    await pass(900);
    assert.equal(opened([third]), 0);
    await pass(300);
    // The eldest takes no more, and its requests go on.
    assert.equal(third.stream?.connection, "u3");
    assert.equal(link(0).closing, true);
    assert.equal(link(0).open.size, 1);
    assert.equal(link(1).closing, false);
    assert.ok(pool.view().connections.length <= 3);
  });

  test("who waits for streams of a connection of its own costs others none of theirs [CG-GOAWAY-7, CG-S11]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 2 } });
    bed.submit(A, "/a");
    bed.submit(B, "/b");
    await turn();
    bed.link(0).groupControl("GOAWAY", bed.link(0).groupOf("/b") as number, 1, 2 ** 31 - 1);
    const own = burst(bed, B, 6);
    await bed.pass(5_000);
    assert.equal(opened(own), 2);
    assert.deepEqual(
      bed.links.map(({ closing }) => closing),
      [false, false],
    );
    bed.link(1).respond(1);
    await turn();
    assert.equal(opened(own), 3);
  });

  test("a connection that is somebody's own and idle makes room for others [CG-S11]", async () => {
    const bed = upstreamBed({ policy: 1, limits: { connectionsPerKey: 2 } });
    for (let index = 0; index < 6; index++) {
      const outcome = bed.submit(client(`c${index}`), `/${index}`);
      await bed.pass(1_100);
      const { stream } = outcome;
      assert.notEqual(stream, undefined, `client ${index}`);
      bed.links.findLast((link) => link.paths.includes(`/${index}`))?.respond(1);
      assert.equal(outcome.complete, true);
      assert.ok(bed.pool.view().connections.length <= 2);
    }
  });

  test("what is bound to a connection has one for itself [CG-KEY-9, CG-S61]", async () => {
    const { submit, links, link, pool } = upstreamBed();
    submit(A, "/shared");
    await turn();
    submit(A, "/ntlm1", { privateTo: "c7" });
    await turn();
    submit(B, "/b");
    submit(A, "/ntlm2", { privateTo: "c7" });
    submit(A, "/other", { privateTo: "c8" });
    await turn();
    assert.deepEqual(
      links.map(({ paths }) => paths),
      [["/shared", "/b"], ["/ntlm1", "/ntlm2"], ["/other"]],
    );
    assert.deepEqual(
      pool.view().connections.map(({ dedicated }) => dedicated),
      [false, true, true],
    );
    link(1).respond(1);
    link(1).respond(3);
    submit(A, "/later");
    assert.deepEqual(link(1).paths, ["/ntlm1", "/ntlm2"]);
  });

  test("a private connection whose client has left before it was made serves nobody [CG-KEY-9]", async () => {
    const { submit, link, pool } = upstreamBed();
    const outcome = submit(A, "/ntlm", { privateTo: "c7" });
    outcome.submission.cancel();
    submit(B, "/b");
    await turn();
    assert.deepEqual(link(0).paths, []);
    assert.equal(link(0).over, true);
    assert.deepEqual(link(1).paths, ["/b"]);
    assert.equal(pool.view().connections.length, 1);
  });

  test("the answer to a 421 is a connection that has had no request [H03]", async () => {
    const { submit, links, link } = upstreamBed();
    submit(A, "/1");
    await turn();
    link(0).respond(1);
    submit(A, "/1", { fresh: true });
    submit(B, "/b");
    await turn();
    assert.deepEqual(
      links.map(({ paths }) => paths),
      [["/1", "/b"], ["/1"]],
    );
  });

  test("a request does not return to a connection that it came to nothing on [CG-BOUND-10]", async () => {
    const { submit, links, link } = upstreamBed();
    const outcome = submit(A, "/1");
    await turn();
    link(0).resetByOrigin(1, REFUSED_STREAM);
    assert.deepEqual(outcome.failed, { type: "reset", code: 7n, version: "h2" });
    submit(A, "/1", { avoid: new Set(["u1"]) });
    submit(B, "/b");
    await turn();
    assert.deepEqual(
      links.map(({ paths }) => paths),
      [["/1", "/b"], ["/1"]],
    );
  });

  test("identifiers of a client on two connections have nothing in common [CG-FIELD-12, CG-FIELD-14, F06]", async () => {
    const { submit, link } = upstreamBed();
    submit(A, "/1");
    submit(A, "/2", { target: target("www.example") });
    await turn();
    const first = link(0).groupOf("/1") as number;
    assert.notEqual(first, link(1).groupOf("/2"));
    // The identifier of one means nothing on the other.
    link(1).groupControl("GOAWAY", first, 0, 0);
    submit(A, "/3", { target: target("www.example") });
    assert.deepEqual(link(1).paths, ["/2", "/3"]);
  });

  test("fields that no request can have are told as such, and the next request goes", async () => {
    const { submit, link, pool } = upstreamBed();
    submit(A, "/a");
    await turn();
    const outcome = submit(A, "/unsendable");
    assert.deepEqual(outcome.declined, {
      because: "unreachable",
      proxyError: "http_protocol_error",
    });
    submit(A, "/b");
    assert.deepEqual(link(0).paths, ["/a", "/b"]);
    assert.equal(pool.view().connections[0]?.streams, 2);
  });

  test("the stream map tells both sides of each request, and when its HEADERS went [CG-MAP-1, CG-MAP-2, CG-MAP-3, CG-MAP-4, CG-MAP-5, CG-MAP-6]", async () => {
    const { submit, link, pool } = upstreamBed();
    const progress = { contentComplete: false, replayable: true, responseForwarded: false };
    const outcome = submit(A, "/a", {
      from: { connection: "c9", stream: 5 },
      endStream: false,
      progress: () => progress,
    });
    assert.equal(pool.view().streams[0]?.to, undefined);
    await turn();
    const row = () => pool.view().streams[0];
    assert.deepEqual(row(), {
      from: { connection: "c9", stream: 5 },
      to: { connection: "u1", stream: 1 },
      identifier: link(0).groupOf("/a"),
      sent: false,
      contentComplete: false,
      replayable: true,
      responseReceived: false,
      responseForwarded: false,
    });
    link(0).sent(1);
    assert.equal(row()?.sent, true);
    assert.equal(outcome.stream?.sent, true);
    link(0).events.headersReceived(1, false);
    assert.equal(row()?.responseReceived, true);
    progress.responseForwarded = true;
    assert.equal(row()?.responseForwarded, true);
    link(0).respond(1);
    assert.deepEqual(pool.view().streams, []);
  });
}

function states(): void {
  test("GOAWAY drains the connection: what is above its boundary was not processed, the rest finishes [CG-STATE-2, CG-STATE-3, CG-CGOAWAY-1, CG-CGOAWAY-2, CG-BOUND-2, CG-BOUND-3, A01, A03]", async () => {
    const { submit, link, links } = upstreamBed();
    const outcomes = [A, B, C].map((who, index) => submit(who, `/${index}`));
    await turn();
    for (const id of [1, 3, 5]) link(0).sent(id);
    link(0).goaway(1);
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      [undefined, "unprocessed", "unprocessed"],
    );
    const later = submit(A, "/later");
    await turn();
    assert.equal(links.length, 2);
    assert.equal(later.stream?.connection, "u2");
    link(0).respond(1);
    assert.equal(outcomes[0]?.complete, true);
    assert.deepEqual(
      outcomes.map(({ ends }) => ends),
      [1, 1, 1],
    );
  });

  test("two steps: the first fails nothing, the second lowers the boundary [CG-S69, A04]", async () => {
    const { submit, link } = upstreamBed();
    const outcomes = ["/1", "/2", "/3"].map((path) => submit(A, path));
    await turn();
    link(0).goaway(2 ** 31 - 1);
    assert.deepEqual(
      outcomes.map(({ ends }) => ends),
      [0, 0, 0],
    );
    assert.equal(submit(B, "/b").stream, undefined);
    link(0).goaway(1);
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      [undefined, "unprocessed", "unprocessed"],
    );
    assert.throws(() => link(0).events.goaway(3, 0), { code: "PROTOCOL_ERROR" });
  });

  test("the connection stays until the streams that were accepted have finished [CG-BOUND-12, A05]", async () => {
    const { submit, link, pool } = upstreamBed();
    const outcomes = ["/1", "/2"].map((path) => submit(A, path));
    await turn();
    link(0).goaway(7);
    assert.equal(pool.view().connections[0]?.state, "DRAINING");
    link(0).respond(1);
    link(0).respond(3);
    assert.deepEqual(
      outcomes.map(({ complete }) => complete),
      [true, true],
    );
    assert.deepEqual(pool.view().connections, []);
    assert.deepEqual(link(0).resets, []);
  });

  test("GOAWAY and then the end: at or below the boundary nothing is known [CG-S70, A07]", async () => {
    const { submit, link } = upstreamBed();
    const outcomes = ["/1", "/2"].map((path) => submit(A, path));
    await turn();
    link(0).sent(1);
    link(0).goaway(1);
    link(0).lose();
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      ["connection-lost", "unprocessed"],
    );
  });

  test("a whole response is a response, whatever boundary comes after it [CG-S53, A19]", async () => {
    const { submit, link } = upstreamBed();
    const outcome = submit(A, "/1", { endStream: false });
    await turn();
    const stream = link(0).open.get(1)?.stream;
    link(0).events.headersReceived(1, false);
    link(0).events.endReceived?.(1);
    link(0).goaway(0);
    stream?.emit("response", { ":status": 200 });
    stream?.emit("end");
    assert.deepEqual([outcome.complete, outcome.ends], [true, 1]);
  });

  test("nothing is placed on a connection after its GOAWAY, whatever comes together: 10,000 rounds [CG-STATE-5, CG-STATE-1, A10]", async () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const patient = { queueTime: 1e9, patience: 1e9, queuedRequestsPerClient: 1_000 };
    const bed = upstreamBed({ limits: { ...patient, streamsPerConnection: 4 } });
    const outcomes: Outcome[] = [];
    /** Requests of a connection by when its GOAWAY was taken in. */
    const atGoaway = new Map<FakeLink, number>();
    const again = (who: typeof A, path: string): void => {
      // In the very call that tells of it, as the client's side does.
      outcomes.push(bed.submit(who, path, {}, { failed: () => again(who, `${path}'`) }));
    };
    for (let round = 0; round < 10_000; round++) {
      const open = bed.links.filter(({ over }) => !over);
      const one = open[random(open.length)];
      const ids = [...(one?.open.keys() ?? [])];
      const id = ids[random(ids.length)];
      switch (random(6)) {
        case 0:
          if (one === undefined || one.leaving) break;
          {
            const last = ids[random(ids.length + 1)] ?? 0;
            one.leaving = true;
            one.events.goaway(last, 0);
            atGoaway.set(one, one.requests.length);
            for (const above of ids) {
              if (above <= last || !one.open.delete(above)) continue;
              one.events.ended?.(above);
            }
          }
          break;
        case 1:
        case 2:
          if (one !== undefined && id !== undefined) one.respond(id);
          break;
        case 3:
          await turn();
          break;
        default:
          again([A, B, C][random(3)] as typeof A, `/${round}`);
      }
      while (bed.pool.bounds.waiting.requests > 500) {
        await turn();
        for (const link of bed.links) for (const open of [...link.open.keys()]) link.respond(open);
      }
    }
    for (let rest = 0; rest < 1_000 && bed.pool.view().streams.length > 0; rest++) {
      await bed.pass(50);
      for (const link of bed.links) for (const open of [...link.open.keys()]) link.respond(open);
    }
    assert.ok(atGoaway.size > 400, `${atGoaway.size} connections were told to go away`);
    for (const [link, requests] of atGoaway) assert.equal(link.requests.length, requests);
    assert.deepEqual(bed.pool.view().streams, []);
    // Each request has one end: completed or known as unprocessed (CG-STATE-4).
    for (const { ends, complete, failed } of outcomes) {
      assert.equal(ends, 1);
      assert.equal(complete ? undefined : "unprocessed", failed?.type);
    }
    for (const { most } of bed.links) assert.ok(most <= 4);
  });

  test("the end of a connection without GOAWAY is the end of each of its requests [CG-FAIL-1, CG-STATE-4, C01, C08]", async () => {
    const { submit, link, pool, restrictions } = upstreamBed();
    const outcomes = ["/1", "/2"].map((path) => submit(A, path));
    await turn();
    link(0).sent(1);
    link(0).lose();
    assert.deepEqual(
      outcomes.map(({ failed, ends, stream }) => [failed?.type, ends, stream?.sent]),
      [
        ["connection-lost", 1, true],
        ["connection-lost", 1, false],
      ],
    );
    assert.deepEqual(pool.view().streams, []);
    assert.deepEqual(pool.view().connections, []);
    assert.equal(restrictions.size, 0);
  });

  test("a stream that the runtime has told otherwise is never taken for one that was not sent [C08, CG-FAIL-4, CG-MAP-4]", async () => {
    const { submit, link, pool } = upstreamBed({ limits: { streamsPerConnection: 2 } });
    const outcomes = ["/1", "/2", "/3"].map((path) => submit(A, path));
    await turn();
    assert.deepEqual(link(0).paths, ["/1", "/2"]);
    // On the wire it has another number: one of the two, or of those that are to come.
    link(0).sent(5);
    assert.notEqual(pool.view().connections[0]?.state, "ACTIVE");
    await turn();
    assert.deepEqual(
      outcomes.map(({ failed, stream }) => [failed?.type, stream?.sent]),
      [
        ["connection-lost", true],
        ["connection-lost", true],
        // It is on the connection that nobody doubts.
        [undefined, false],
      ],
    );
    assert.deepEqual(link(1).paths, ["/3"]);
  });

  test("nor is one that goes under another number within the call that opens it [C08, CG-FAIL-4, CG-MAP-4]", async () => {
    const { submit, link } = upstreamBed();
    const first = submit(A, "/1");
    await turn();
    link(0).during = (id) => link(0).sent(id + 2);
    const second = submit(A, "/2");
    assert.notEqual(second.stream, undefined);
    await turn();
    for (const { failed, stream, ends } of [first, second]) {
      assert.deepEqual([failed?.type, stream?.sent, ends], ["connection-lost", true, 1]);
    }
  });

  test("nor one of which the runtime says that it could not be opened, and that has left [C08, CG-FAIL-4, CG-MAP-4]", async () => {
    for (const code of ["NOT_OPEN", "FULL", "INVALID_FIELDS"] as const) {
      const { submit, link, links } = upstreamBed();
      submit(A, "/1");
      await turn();
      link(0).during = (id) => {
        link(0).sent(id);
        throw new Http2CallError(code, "and yet it has gone");
      };
      const outcome = submit(A, "/2");
      await turn();
      assert.equal(outcome.declined?.because, "unreachable");
      assert.deepEqual(
        links.map(({ paths }) => paths),
        [["/1"]],
      );
    }
  });

  test("nor one that the runtime lets go of while the connection goes on [C08, CG-FAIL-4, CG-MAP-4]", async () => {
    const { submit, link } = upstreamBed();
    const outcome = submit(A, "/1");
    await turn();
    link(0).open.get(1)?.stream.emit("close");
    assert.deepEqual([outcome.failed?.type, outcome.stream?.sent], ["connection-lost", true]);
    // What comes of it later concerns nobody.
    link(0).sent(1);
    await turn();
    assert.equal(link(0).over, false);
  });

  test("nor one of which the runtime changes the number [C08, CG-FAIL-4, CG-MAP-4]", async () => {
    const { submit, link } = upstreamBed();
    const outcome = submit(A, "/1");
    await turn();
    const stream = link(0).open.get(1)?.stream;
    assert.ok(stream !== undefined);
    stream.id = 3;
    link(0).lose();
    assert.deepEqual([outcome.failed?.type, outcome.stream?.sent], ["connection-lost", true]);
  });

  for (const [until, wait] of [
    [
      "the runtime lets go of a stream that was over on the wire",
      async (_bed: ReturnType<typeof upstreamBed>, over: () => void) => over(),
    ],
    ["a moment has passed", (bed: ReturnType<typeof upstreamBed>) => bed.pass(50)],
  ] as const) {
    test(`a connection that only the runtime takes for full is left alone until ${until}`, async () => {
      const bed = upstreamBed({ limits: { connectionsPerKey: 1 } });
      const first = bed.submit(A, "/1");
      await turn();
      const link = bed.link(0);
      const { stream } = link.requests[0] as (typeof link.requests)[0];
      link.sent(1);
      link.events.headersReceived(1, true);
      link.events.endReceived?.(1);
      link.events.ended?.(1);
      link.open.delete(1);
      assert.equal(first.ends, 0);
      let refusals = 0;
      link.during = () => {
        refusals++;
        throw new Http2CallError("FULL", "it has not been read");
      };
      const outcomes = [bed.submit(B, "/2"), bed.submit(C, "/3")];
      await turn();
      // Asked once, it is not asked again; nobody is turned away.
      assert.equal(refusals, 1);
      assert.deepEqual(declinedAs(outcomes), [undefined, undefined]);
      assert.equal(bed.pool.view().queue.requests, 2);
      link.during = undefined;
      await turn();
      assert.deepEqual(link.paths, ["/1"]);
      await wait(bed, () => stream.emit("close"));
      await turn();
      assert.deepEqual(link.paths, ["/1", "/2", "/3"]);
      assert.equal(opened(outcomes), 2);
      assert.equal(bed.links.length, 1);
    });
  }

  test("half the clients of an origin do not notice the loss of one of two connections [CG-FAIL-12]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 2 } });
    const outcomes = burst(bed, A, 4);
    await turn();
    bed.link(0).lose();
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      ["connection-lost", "connection-lost", undefined, undefined],
    );
  });

  test("the client's end resets the stream at once, and nothing is heard of it [B08]", async () => {
    const { submit, link, pool, restrictions } = upstreamBed();
    const outcome = submit(A, "/1");
    await turn();
    outcome.submission.cancel();
    assert.deepEqual(link(0).resets, [{ id: 1, code: CANCEL }]);
    assert.equal(outcome.ends, 0);
    assert.deepEqual(pool.view().streams, []);
    assert.equal(restrictions.size, 0);
  });

  test("a later SETTINGS frame that changes the policy is an error of the connection [CG-PROC-10, D05]", async () => {
    const { submit, link } = upstreamBed({ policy: 5 });
    submit(A, "/1");
    await turn();
    assert.throws(() => link(0).settings(3), { code: "PROTOCOL_ERROR" });
    link(0).settings(5);
    link(0).settings();
  });
}

function impositions(): void {
  test("GOAWAY of one group: above its boundary unprocessed and reset, below it on, others unhurt [CG-GOAWAY-1, CG-GOAWAY-2, CG-GOAWAY-3, CG-GOAWAY-5, CG-GOAWAY-7, CG-S34, CG-BOUND-1, E05]", async () => {
    const { submit, link, links } = upstreamBed();
    const b = ["/b1", "/b2"].map((path) => submit(B, path));
    await turn();
    const a = submit(A, "/a");
    const b3 = submit(B, "/b3");
    const group = link(0).groupOf("/b1") as number;
    for (const { id } of link(0).requests) link(0).sent(id);
    link(0).groupControl("GOAWAY", group, 0, 3);
    assert.equal(b3.failed?.type, "unprocessed");
    assert.deepEqual(link(0).resets, [{ id: 7, code: CANCEL }]);
    assert.deepEqual(
      [...b, a].map(({ ends }) => ends),
      [0, 0, 0],
    );
    const next = submit(B, "/b4");
    submit(A, "/a2");
    await turn();
    assert.equal(next.stream?.connection, "u2");
    assert.deepEqual(link(0).paths, ["/b1", "/b2", "/a", "/b3", "/a2"]);
    // Any other suitable connection will do: A may come here too.
    assert.equal(links.length, 2);
    link(0).respond(1);
    link(0).respond(3);
    assert.deepEqual(
      b.map(({ complete }) => complete),
      [true, true],
    );
  });

  test("a later GOAWAY of the group lowers its boundary, and none raises it [CG-GOAWAY-8, CG-S30, CG-A8]", async () => {
    const { submit, link } = upstreamBed();
    const outcomes = ["/1", "/2", "/3"].map((path) => submit(B, path));
    await turn();
    for (const id of [1, 3, 5]) link(0).sent(id);
    const group = link(0).groupOf("/1") as number;
    link(0).groupControl("GOAWAY", group, 0, 3);
    link(0).groupControl("GOAWAY", group, 0, 5);
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      [undefined, undefined, "unprocessed"],
    );
    link(0).groupControl("GOAWAY", group, 0, 1);
    assert.deepEqual(
      outcomes.map(({ failed }) => failed?.type),
      [undefined, "unprocessed", "unprocessed"],
    );
  });

  test("GOAWAY with Value 1: from then on the client has a connection free of others [CG-GOAWAY-4, CG-S31, CG-S32, CG-S35]", async () => {
    const { submit, link, links, pool } = upstreamBed();
    submit(A, "/a");
    submit(B, "/b");
    await turn();
    submit(A, "/t2", { avoid: new Set(["u1"]) });
    await turn();
    // u2 is there, and A has been on it.
    link(0).groupControl("GOAWAY", link(0).groupOf("/b") as number, 1, 2 ** 31 - 1);
    const later = Array.from({ length: 50 }, (_, index) => submit(B, `/b${index}`));
    await turn();
    submit(C, "/c");
    assert.equal(links.length, 3);
    assert.equal(opened(later), 50);
    assert.equal(link(2).requests.length, 50);
    assert.equal(new Set(link(2).requests.map(({ fields }) => fields["client-group"])).size, 1);
    assert.equal(pool.view().connections[2]?.dedicated, true);
    // It outlasts that connection, CLEAR, and a GOAWAY with Value 0.
    link(2).groupControl("CLEAR", link(2).groupOf("/b0") as number);
    link(2).groupControl("GOAWAY", link(2).groupOf("/b0") as number, 0, 2 ** 31 - 1);
    const after = submit(B, "/after");
    await turn();
    assert.equal(after.stream?.connection, "u4");
    submit(A, "/a3");
    assert.deepEqual(link(3).paths, ["/after"]);
  });

  test("requests that wait follow Value 1 as well [CG-GOAWAY-4, CG-S33]", async () => {
    const { submit, link } = upstreamBed({
      limits: { streamsPerConnection: 2, connectionsPerKey: 1 },
    });
    submit(A, "/a");
    submit(B, "/b1");
    await turn();
    const waiting = submit(B, "/b2");
    assert.equal(opened([waiting]), 0);
    link(0).groupControl("GOAWAY", link(0).groupOf("/b1") as number, 1, 2 ** 31 - 1);
    await turn();
    assert.equal(waiting.stream?.connection, "u2");
    submit(C, "/c");
    await turn();
    assert.deepEqual(link(1).paths, ["/b2"]);
  });

  test("BLOCK answers what waits and what comes, on all connections, and ends nothing [CG-BLOCK-1, CG-BLOCK-2, CG-BLOCK-3, CG-ACT-6, CG-S38, E08, E09]", async () => {
    const { submit, link, clock } = upstreamBed({
      limits: { streamsPerConnection: 1, connectionsPerKey: 2 },
    });
    const t1 = submit(B, "/1");
    const t2 = submit(B, "/2");
    await turn();
    const waiting = submit(B, "/3");
    const other = submit(A, "/a");
    link(0).groupControl("BLOCK", link(0).groupOf("/1") as number, 60);
    assert.deepEqual(waiting.declined, { because: "blocked", retryAfter: 60 });
    assert.equal(other.declined, undefined);
    clock.advance(1_500);
    assert.deepEqual(submit(B, "/4").declined, { because: "blocked", retryAfter: 59 });
    link(0).respond(1);
    link(1).respond(1);
    await turn();
    assert.deepEqual([t1.complete, t2.complete], [true, true]);
    assert.notEqual(other.stream, undefined);
    clock.advance(58_501);
    const free = submit(B, "/5");
    await turn();
    assert.notEqual(free.stream, undefined);
  });

  test("a shorter BLOCK replaces a longer one, an invalid one nothing, CLEAR ends it [CG-BLOCK-4, CG-BLOCK-5, CG-S37, CG-CLEAR-1, CG-CLEAR-4, E09]", async () => {
    const { submit, link, clock, events } = upstreamBed();
    submit(B, "/1");
    await turn();
    const group = link(0).groupOf("/1") as number;
    link(0).groupControl("BLOCK", group, 3_600);
    link(0).groupControl("BLOCK", group, 0);
    link(0).groupControl("BLOCK", group, 86_401);
    assert.equal(submit(B, "/2").declined?.because, "blocked");
    link(0).groupControl("BLOCK", group, 5);
    clock.advance(5_000);
    assert.notEqual(submit(B, "/3").stream, undefined);
    link(0).groupControl("BLOCK", group, 3_600);
    link(0).groupControl("CLEAR", group, 0xffff_ffff);
    assert.notEqual(submit(B, "/4").stream, undefined);
    assert.deepEqual(
      events.map(({ effect }) => effect),
      ["BLOCK", "ignored", "ignored", "BLOCK", "BLOCK", "CLEAR"],
    );
    assert.equal(events[0]?.client, B);
    assert.equal(events[1]?.client, undefined);
  });

  test("BLOCK comes after the last response and still finds its client [CG-S26, CG-A4, E11]", async () => {
    const { submit, link } = upstreamBed();
    submit(B, "/1");
    await turn();
    link(0).respond(1);
    link(0).groupControl("BLOCK", link(0).groupOf("/1") as number, 60);
    assert.equal(submit(B, "/2").declined?.because, "blocked");
    assert.notEqual(submit(A, "/3").stream, undefined);
  });

  test("BLOCK reaches the same host on another connection key, and no other host or tenant [CG-SEC-6, CG-S60, E12]", async () => {
    const { submit, link } = upstreamBed();
    submit(B, "/1");
    await turn();
    link(0).groupControl("BLOCK", link(0).groupOf("/1") as number, 60);
    const elsewhere = submit(B, "/2", { target: target("www.example") });
    const region = submit(B, "/3", { target: target("api.example", { region: "eu" }) });
    await turn();
    assert.notEqual(elsewhere.stream, undefined);
    assert.equal(region.declined?.because, "blocked");
  });

  test("LIMIT holds over all connections; what exceeds it waits its turn [CG-LIMIT-1, CG-LIMIT-2, CG-S41, CG-S42]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 3, connectionsPerKey: 2 } });
    const first = burst(bed, B, 4);
    await turn();
    bed.link(0).groupControl("LIMIT", bed.link(0).groupOf("/B0") as number, 2);
    const more = ["/x", "/y", "/z"].map((path) => bed.submit(B, path));
    const open = () => bed.links.reduce((sum, link) => sum + link.open.size, 0);
    await bed.pass(50);
    assert.equal(open(), 4);
    bed.link(0).respond(1);
    bed.link(0).respond(3);
    await turn();
    // No more start before fewer than two are in progress.
    assert.equal(open(), 2);
    bed.link(0).respond(5);
    await turn();
    assert.equal(open(), 2);
    assert.equal(opened(more), 1);
    assert.notEqual(bed.submit(A, "/a").stream, undefined);
    assert.equal(opened(first), 4);
  });

  test("the latest LIMIT wins, LIMIT 0 changes nothing, and CLEAR lets all go [CG-LIMIT-4, CG-LIMIT-6, CG-CLEAR-2]", async () => {
    const bed = upstreamBed();
    bed.submit(B, "/0");
    await turn();
    const group = bed.link(0).groupOf("/0") as number;
    bed.link(0).groupControl("LIMIT", group, 1);
    const waiting = burst(bed, B, 6);
    bed.link(0).groupControl("LIMIT", group, 0);
    await turn();
    assert.equal(opened(waiting), 0);
    bed.link(0).groupControl("LIMIT", group, 3);
    await turn();
    assert.equal(opened(waiting), 2);
    bed.link(0).groupControl("CLEAR", group);
    await turn();
    assert.equal(opened(waiting), 6);
  });

  test("what waits for the end of a LIMIT is bounded in number and in time [CG-LIMIT-2, CG-LIMIT-3, CG-FAIL-9]", async () => {
    const bed = upstreamBed({ limits: { queuedRequestsPerClient: 5, queueTime: 2_000 } });
    bed.submit(B, "/0");
    await turn();
    bed.link(0).groupControl("LIMIT", bed.link(0).groupOf("/0") as number, 1);
    const more = burst(bed, B, 7);
    assert.deepEqual(declinedAs(more).slice(5), ["limited", "limited"]);
    await bed.pass(2_100);
    assert.deepEqual(declinedAs(more), Array(7).fill("limited"));
    assert.equal(bed.restrictions.inProgress(B, target("api.example").scope), 1);
  });

  test("a LIMIT lasts while requests are there, however long, and ends with the last [CG-LIMIT-5, CG-A20]", async () => {
    const bed = upstreamBed({ limits: { idleTime: 1e9, silenceTime: 1e9, queueTime: 1e9 } });
    bed.submit(B, "/0");
    await turn();
    bed.link(0).groupControl("LIMIT", bed.link(0).groupOf("/0") as number, 1);
    bed.clock.advance(86_400_000);
    const second = bed.submit(B, "/1");
    assert.equal(opened([second]), 0);
    bed.link(0).respond(1);
    await turn();
    assert.notEqual(second.stream, undefined);
    bed.link(0).respond(3);
    assert.equal(opened(burst(bed, B, 3)), 3);
  });

  test("what another process of the gateway was told holds here too [CG-ACT-6]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 1, connectionsPerKey: 1 } });
    bed.submit(A, "/a");
    await turn();
    const waiting = bed.submit(B, "/b");
    const { scope } = target("api.example");
    bed.restrictions.block(B, scope, 30);
    bed.pool.restricted(B, scope);
    assert.deepEqual(waiting.declined, { because: "blocked", retryAfter: 30 });
  });

  test("a blocked client is told so without a connection [CG-BLOCK-2]", () => {
    const { submit, restrictions, links } = upstreamBed();
    restrictions.block(B, target("api.example").scope, 30);
    assert.deepEqual(submit(B, "/b").declined, { because: "blocked", retryAfter: 30 });
    assert.equal(links.length, 0);
  });
}

function shares(): void {
  test("B has a hundred requests and more waiting; A gets the next stream that ends [CG-SEC-10, J03]", async () => {
    const bed = upstreamBed({ limits: { connectionsPerKey: 1 } });
    burst(bed, B, 150);
    await turn();
    assert.equal(bed.link(0).open.size, 100);
    const a = bed.submit(A, "/a");
    await turn();
    assert.equal(opened([a]), 0);
    bed.link(0).respond(1);
    await turn();
    assert.notEqual(a.stream, undefined);
    assert.equal(bed.link(0).open.size, 100);
  });

  test("clients that wait get equal shares, whoever came first with however many [CG-SEC-10, J03]", async () => {
    const bed = upstreamBed({ limits: { connectionsPerKey: 1, streamsPerConnection: 12 } });
    burst(bed, B, 100);
    await turn();
    burst(bed, A, 40);
    burst(bed, C, 40);
    const link = bed.link(0);
    for (let ended = 0; ended < 12; ended++) {
      const id = [...link.open.values()].find(({ fields }) =>
        String(fields[":path"]).startsWith("/B"),
      )?.id;
      link.respond(id ?? ([...link.open.keys()][0] as number));
      await turn();
    }
    const held = (who: typeof A) =>
      [...link.open.values()].filter(({ fields }) =>
        String(fields[":path"]).startsWith(`/${who.key}`),
      ).length;
    assert.deepEqual([held(A), held(B), held(C)], [4, 4, 4]);
  });

  test("a full connection makes room for another, up to the bound [CG-FAIL-11, CG-FAIL-12, J09]", async () => {
    const bed = upstreamBed({
      limits: { connectionsPerKey: 3, streamsPerConnection: 10, dialsPerKey: 8 },
    });
    for (let index = 0; index < 40; index++) bed.submit(client(`c${index}`), `/${index}`);
    await turn();
    assert.deepEqual(
      bed.links.map(({ open }) => open.size),
      [10, 10, 10],
    );
    assert.equal(bed.pool.view().queue.requests, 10);
    assert.equal(bed.pool.view().queue.clients, 10);
  });

  test("few connections are made at a time [D03]", async () => {
    const bed = upstreamBed({
      options: { open: () => ({ link: new Promise(() => {}), abort: () => {} }) },
    });
    for (let index = 0; index < 900; index++) bed.submit(client(`c${index}`), `/${index}`);
    await bed.pass(500);
    assert.equal(bed.pool.view().dialing, 2);
  });

  test("an origin that takes no streams for now gets none, and then as many as it says [D01]", async () => {
    const bed = upstreamBed({ policy: "hold" });
    bed.submit(A, "/a0");
    await turn();
    bed.link(0).settings(0, 0);
    const more = burst(bed, A, 15);
    await bed.pass(2_000);
    assert.equal(opened(more), 0);
    assert.equal(bed.links.length, 1);
    bed.link(0).settings(undefined, 10);
    await turn();
    assert.equal(bed.link(0).open.size, 10);
    // It takes fewer from here on: no new stream before fewer are open.
    bed.link(0).settings(undefined, 2);
    for (const id of [1, 3, 5]) bed.link(0).respond(id);
    await turn();
    assert.equal(bed.link(0).open.size, 7);
  });

  test("the queue has a bound in number, in octets and in time [CG-FAIL-8, CG-FAIL-9, J05]", async () => {
    const limits = { connectionsPerKey: 1, streamsPerConnection: 1, queuedRequests: 10 };
    const bed = upstreamBed({ limits: { ...limits, queuedBytes: 1_000, queueTime: 3_000 } });
    bed.submit(A, "/a");
    await turn();
    const held = { bytes: 400 };
    const big = [1, 2, 3].map((index) =>
      bed.submit(B, `/${index}`, { buffered: () => held.bytes }),
    );
    assert.deepEqual(declinedAs(big), [undefined, undefined, "queue-full"]);
    // What grows while it waits counts as well.
    held.bytes = 600;
    await bed.pass(100);
    assert.equal(bed.pool.view().queue.bytes, 1_200);
    assert.equal(bed.submit(B, "/b", { buffered: () => 0 }).declined?.because, "queue-full");
    held.bytes = 400;
    await bed.pass(100);
    assert.equal(bed.submit(C, "/c", { buffered: () => 900 }).declined?.because, "queue-full");
    const small = burst(bed, C, 9);
    assert.deepEqual(declinedAs(small), [...Array(8).fill(undefined), "queue-full"]);
    await bed.pass(3_100);
    assert.deepEqual(declinedAs(small), [...Array(8).fill("queue-timeout"), "queue-full"]);
    assert.deepEqual(bed.pool.view().queue, { requests: 0, bytes: 0, clients: 0 });
  });

  test("requests that wait for an origin that hangs give way to those for another [CG-S11]", async () => {
    const hung = target("hung.example");
    const bed = upstreamBed({
      limits: { queuedRequests: 20 },
      options: { open: () => ({ link: new Promise(() => {}), abort: () => {} }) },
    });
    const whose = [0, 1, 2, 3].map((index) => client(`c${index}`));
    const first = Array.from({ length: 20 }, (_, index) =>
      bed.submit(whose[index % 4] as GatewayClient, `/hung${index}`, { target: hung }),
    );
    const others = Array.from({ length: 10 }, (_, index) => bed.submit(A, `/good${index}`));
    assert.deepEqual(declinedAs(others), Array(10).fill(undefined));
    // Of each client the last that came, and in turns.
    assert.deepEqual(
      first.flatMap(({ declined }, at) => (declined === undefined ? [at] : [])),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    // Now both origins have half.
    assert.equal(bed.submit(A, "/good").declined?.because, "queue-full");
    assert.equal(bed.submit(B, "/hung", { target: hung }).declined, undefined);
    assert.deepEqual(bed.pool.view().queue, { requests: 20, bytes: 0, clients: 6 });
  });

  test("content that is held for one client gives way to another's [CG-S11, CG-FAIL-8]", async () => {
    const bed = upstreamBed({ limits: { queuedBytes: 1_000 }, policy: "hold" });
    bed.submit(A, "/a");
    await turn();
    const big = [1, 2, 3].map((index) => bed.submit(B, `/${index}`, { buffered: () => 300 }));
    const empty = bed.submit(B, "/empty");
    assert.equal(bed.submit(C, "/c1", { buffered: () => 400 }).declined, undefined);
    assert.deepEqual(declinedAs([...big, empty]), [undefined, undefined, "queue-full", undefined]);
    // Not so that it would have more than they.
    assert.equal(bed.submit(C, "/c2", { buffered: () => 400 }).declined?.because, "queue-full");
    assert.equal(bed.pool.view().queue.bytes, 1_000);
  });

  test("clients whose requests wait for the end of a LIMIT give way to one that waits for a stream, and get 429 [CG-S11, CG-S43]", async () => {
    const bed = upstreamBed({
      limits: { connectionsPerKey: 1, streamsPerConnection: 5, queuedRequests: 20 },
    });
    const limited = [0, 1, 2, 3].map((index) => client(`limited${index}`));
    for (const who of limited) bed.submit(who, `/${who.key}`);
    await turn();
    const link = bed.link(0);
    for (const who of limited) link.groupControl("LIMIT", link.groupOf(`/${who.key}`) as number, 1);
    const waiting = limited.flatMap((who) => burst(bed, who, 5));
    assert.equal(bed.pool.view().queue.requests, 20);
    bed.submit(A, "/a1");
    const a = bed.submit(A, "/a2");
    await turn();
    assert.equal(a.declined, undefined);
    assert.deepEqual(
      waiting.filter(({ declined }) => declined).map(({ declined }) => declined?.because),
      ["limited"],
    );
    link.respond(link.idOf("/a1"));
    await turn();
    assert.notEqual(a.stream, undefined);
  });

  test("whoever leaves while waiting leaves nothing behind [J05]", async () => {
    const bed = upstreamBed({ limits: { connectionsPerKey: 1, streamsPerConnection: 1 } });
    bed.submit(A, "/a");
    await turn();
    const waiting = burst(bed, B, 20);
    for (const { submission } of waiting) submission.cancel();
    assert.deepEqual(bed.pool.view().queue, { requests: 0, bytes: 0, clients: 0 });
    bed.link(0).respond(1);
    await turn();
    assert.deepEqual(bed.link(0).paths, ["/a"]);
    assert.equal(bed.restrictions.size, 0);
    // No timer keeps looking after an empty queue: what is left watches the connection.
    assert.equal(bed.clock.pending, 1);
  });

  test("one client's responses can hold no more than its share of memory [CG-SEC-11, J01]", async () => {
    const bed = upstreamBed({ limits: { bytesPerGroup: 8 * 131_072 } });
    const greedy = burst(bed, B, 20);
    await turn();
    assert.equal(opened(greedy), 8);
    assert.notEqual(bed.submit(A, "/a").stream, undefined);
    bed.link(0).respond(1);
    await turn();
    assert.equal(opened(greedy), 9);
  });

  test("a request that cannot go on any connection holds up no other of its client [CG-S11]", async () => {
    const bed = upstreamBed({ limits: { connectionsPerKey: 1, ownConnectionsPerKey: 0 } });
    bed.submit(A, "/a");
    await turn();
    bed.submit(A, "/private", { privateTo: "c1" });
    const plain = bed.submit(A, "/b");
    assert.notEqual(plain.stream, undefined);
  });
}

function reaching(): void {
  test("a first refusal is tried again; a second is told, with its reason [CG-FAIL-10]", async () => {
    const bed = upstreamBed({ refuse: refused });
    const outcome = bed.submit(A, "/a");
    await bed.pass(200);
    assert.equal(outcome.declined, undefined);
    await bed.pass(100);
    assert.deepEqual(outcome.declined, {
      because: "unreachable",
      proxyError: "connection_refused",
    });
    assert.equal(bed.attempts.length, 2);
    assert.deepEqual(bed.pool.view().unreachable[0]?.error, "connection_refused");
  });

  test("an origin that is back in a moment costs nobody a request [CG-FAIL-2, CG-FAIL-10]", async () => {
    let down = true;
    const bed = upstreamBed({ refuse: () => (down ? refused() : undefined) });
    const outcome = bed.submit(A, "/a");
    await bed.pass(100);
    down = false;
    await bed.pass(200);
    assert.notEqual(outcome.stream, undefined);
    assert.deepEqual(bed.pool.view().unreachable, []);
  });

  test("attempts come at growing distances up to half a minute, whatever is asked for [CG-FAIL-10, J05]", async () => {
    const bed = upstreamBed({ refuse: refused });
    for (let second = 0; second < 240; second++) {
      bed.submit(A, `/${second}`);
      await bed.pass(1_000);
    }
    const gaps = bed.attempts.slice(1).map((at, index) => at - (bed.attempts[index] as number));
    // Without jitter, which is fixed here: 250 ms, then double each time, met by the next request.
    assert.ok(bed.attempts.length < 16, `${bed.attempts.length} attempts`);
    for (const [index, gap] of gaps.entries()) {
      const least = Math.min(30_000, 250 * 2 ** index);
      assert.ok(gap >= least && gap < least + 1_100, `gap ${index}: ${gap}`);
    }
  });

  test("ten thousand requests for an origin that is down leave nothing behind [J05]", async () => {
    const bed = upstreamBed({ refuse: refused });
    const outcomes: Outcome[] = [];
    let most = 0;
    for (let index = 0; index < 10_000; index++) {
      outcomes.push(bed.submit(client(`c${index % 500}`), `/${index}`));
      most = Math.max(most, bed.pool.view().queue.requests);
      if (index % 100 === 0) await bed.pass(50);
    }
    await bed.pass(40_000);
    assert.ok(most <= 1_000);
    assert.ok(outcomes.every(({ declined }) => declined !== undefined));
    assert.ok(bed.attempts.length < 12, `${bed.attempts.length} attempts`);
    assert.equal(bed.pool.view().queue.requests, 0);
    assert.equal(bed.restrictions.size, 0);
  });

  test("an origin that nobody asks for any more is forgotten, down or not", async () => {
    const bed = upstreamBed({ refuse: refused });
    for (let index = 0; index < 50; index++) {
      bed.submit(A, `/${index}`, { target: target(`${index}.example`) });
    }
    await bed.pass(1_000);
    assert.equal(bed.pool.view().unreachable.length, 50);
    bed.clock.advance(120_000);
    assert.deepEqual(bed.pool.view().unreachable, []);
    assert.equal(bed.clock.pending, 0);
  });

  test("a connection that we end before SETTINGS is no failed attempt [CG-FAIL-10]", async () => {
    const bed = upstreamBed({ policy: "hold" });
    bed.submit(A, "/private", { privateTo: "c1" }).submission.cancel();
    await turn();
    assert.equal(bed.link(0).over, true);
    bed.submit(A, "/a");
    await turn();
    assert.deepEqual(bed.link(1).paths, ["/a"]);
    assert.deepEqual(bed.pool.view().unreachable, []);
  });

  test("connections that end before SETTINGS count as failed attempts [CG-FAIL-10]", async () => {
    const bed = upstreamBed({ policy: "hold" });
    for (let round = 0; round < 60; round++) {
      bed.submit(A, `/${round}`);
      await bed.pass(100);
      for (const link of bed.links) link.lose();
    }
    assert.ok(bed.attempts.length < 8, `${bed.attempts.length} attempts in six seconds`);
  });

  test("a certificate that does not hold is told at once", async () => {
    const { DialError } = await import("../../src/gateway/upstream/mod.ts");
    const bed = upstreamBed({ refuse: () => new DialError("tls_certificate_error", "no") });
    const outcome = bed.submit(A, "/a");
    await turn();
    assert.deepEqual(outcome.declined, {
      because: "unreachable",
      proxyError: "tls_certificate_error",
    });
    const [unreachable] = bed.pool.view().unreachable;
    assert.deepEqual(
      [unreachable?.error, unreachable?.reason, unreachable?.attempts],
      ["tls_certificate_error", "no", 1],
    );
  });
}

function life(): void {
  test("a connection that is told to go while it has nothing to do is forgotten at once: a thousand times [A17]", async () => {
    const bed = upstreamBed();
    for (let round = 0; round < 1_000; round++) {
      const outcome = bed.submit(A, `/${round}`);
      await turn();
      const link = bed.link(round);
      link.respond(1);
      assert.equal(outcome.complete, true);
      link.goaway(1);
      assert.equal(bed.pool.view().connections.length, 0);
    }
    assert.equal(bed.clock.pending, 0);
    assert.equal(bed.restrictions.size, 0);
  });

  test("an idle connection is closed before long [A18]", async () => {
    const bed = upstreamBed({ limits: { idleTime: 60_000 } });
    bed.submit(A, "/a");
    await turn();
    bed.link(0).respond(1);
    bed.clock.advance(59_000);
    assert.equal(bed.link(0).over, false);
    bed.submit(A, "/b");
    bed.link(0).respond(3);
    bed.clock.advance(59_000);
    assert.equal(bed.link(0).over, false);
    bed.clock.advance(1_500);
    assert.equal(bed.link(0).over, true);
    assert.deepEqual(bed.pool.view().connections, []);
    assert.equal(bed.clock.pending, 0);
  });

  test("a connection is retired before its stream identifiers run out [J08]", async () => {
    const bed = upstreamBed({ limits: { requestsPerConnection: 3 } });
    const outcomes = burst(bed, A, 5);
    await turn();
    assert.deepEqual(
      bed.links.map(({ paths }) => paths),
      [
        ["/A0", "/A1", "/A2"],
        ["/A3", "/A4"],
      ],
    );
    assert.equal(bed.link(0).over, false);
    for (const id of [1, 3, 5]) bed.link(0).respond(id);
    assert.deepEqual(
      outcomes.slice(0, 3).map(({ complete }) => complete),
      [true, true, true],
    );
    assert.equal(bed.link(0).over, true);
  });

  test("an origin that is silent with requests in progress is asked, and given up where it does not answer [CG-FAIL-1]", async () => {
    const bed = upstreamBed({ limits: { silenceTime: 15_000, pingTime: 10_000 } });
    const outcome = bed.submit(A, "/a");
    await turn();
    bed.link(0).sent(1);
    bed.clock.advance(14_000);
    // Further requests are no sign of life.
    bed.submit(A, "/b");
    bed.clock.advance(1_100);
    assert.equal(bed.link(0).pings.length, 1);
    bed.clock.advance(9_000);
    assert.equal(outcome.ends, 0);
    bed.clock.advance(1_100);
    assert.equal(outcome.failed?.type, "connection-lost");
    assert.equal(bed.link(0).over, true);
  });

  test("an origin that answers is left in peace while it has nothing to say", async () => {
    const bed = upstreamBed();
    const outcome = bed.submit(A, "/a");
    await turn();
    bed.clock.advance(16_000);
    bed.link(0).pings[0]?.();
    bed.clock.advance(270_000);
    assert.equal(bed.link(0).pings.length, 1);
    bed.clock.advance(30_000);
    assert.equal(bed.link(0).pings.length, 2);
    bed.link(0).pings[1]?.();
    assert.equal(outcome.ends, 0);
    // A request that waits for its response is another matter.
    bed.submit(A, "/b");
    bed.clock.advance(15_100);
    assert.equal(bed.link(0).pings.length, 3);
  });

  test("a client that is gone is forgotten, and nobody ever gets its identifier [CG-A5, CG-S14, E11]", async () => {
    const bed = upstreamBed({
      options: {
        randomUint32: (() => {
          const draws = [5, 5, 6, 5, 7];
          return () => draws.shift() as number;
        })(),
      },
    });
    bed.submit(B, "/b");
    await turn();
    const group = bed.link(0).groupOf("/b") as number;
    bed.pool.forget(B);
    // Its request is in progress: the identifier is in use.
    bed.link(0).groupControl("BLOCK", group, 1);
    assert.equal(bed.submit(B, "/b2").declined?.because, "blocked");
    bed.clock.advance(1_000);
    bed.link(0).respond(1);
    bed.link(0).groupControl("BLOCK", group, 60);
    assert.deepEqual(
      bed.events.map(({ effect }) => effect),
      ["BLOCK", "ignored"],
    );
    bed.submit(A, "/a");
    bed.submit(B, "/b3");
    assert.deepEqual([group, bed.link(0).groupOf("/a"), bed.link(0).groupOf("/b3")], [5, 6, 7]);
  });

  test("draining lets what there is finish, and takes nothing more [CG-S67]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 1, connectionsPerKey: 1 } });
    const first = bed.submit(A, "/1");
    const second = bed.submit(A, "/2");
    await turn();
    let drained = false;
    const end = bed.pool.drain().then(() => {
      drained = true;
    });
    assert.deepEqual(bed.submit(A, "/3").declined, { because: "closing" });
    bed.link(0).respond(1);
    await turn();
    bed.link(0).respond(3);
    await end;
    assert.deepEqual([first.complete, second.complete, drained], [true, true, true]);
    assert.equal(bed.link(0).over, true);
    assert.equal(bed.clock.pending, 0);
    await bed.pool.drain();
  });

  test("closing declines what waits and loses what is in progress [CG-STATE-4]", async () => {
    const bed = upstreamBed({ limits: { streamsPerConnection: 1, connectionsPerKey: 1 } });
    const first = bed.submit(A, "/1");
    const second = bed.submit(A, "/2");
    await turn();
    bed.pool.close();
    assert.equal(first.failed?.type, "connection-lost");
    assert.deepEqual(second.declined, { because: "closing" });
    assert.equal(bed.clock.pending, 0);
  });
}

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { sessionErrorCodes } from "../../../../../src/moqt/mod.ts";
import { pass, settle } from "../../../../support/settle.ts";
import { opened, pool, RelayBed, ridOf, subscribe } from "./support.ts";

describe("GOAWAY of a relay", () => {
  test("makes it Draining, and no request is made on that session any more [LB-HEALTH-4]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    const backend = client.open("r1");
    await subscribe(bed, backend);
    bed.end.session.goaway({ timeout: 4000 });
    await settle();
    assert.deepEqual(bed.states, [["r1", "draining"]]);
    assert.equal(backend.isLeaving, true);
    assert.equal(backend.goawayDeadline, bed.clock.now() + 4000);
    assert.deepEqual(
      client.goaways.map(({ rid, timeout }) => ({ rid, timeout })),
      [{ rid: ridOf("r1"), timeout: 4000n }],
    );
    assert.notEqual(client.open("r1"), backend);
  });

  test("with timeout 0 says nothing of when [LB-A18]", async () => {
    const bed = new RelayBed();
    const backend = bed.client().open("r1");
    await subscribe(bed, backend);
    bed.end.session.goaway({ timeout: 0 });
    await settle();
    assert.equal(backend.isLeaving, true);
    assert.equal(backend.goawayDeadline, undefined);
  });

  test("requests stay, and the session is closed with NO_ERROR when the last is over", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    const backend = client.open("r1");
    const { request } = await subscribe(bed, backend);
    bed.end.session.goaway({ timeout: 4000 });
    await pass(bed.clock, 1000, 100);
    assert.equal(backend.isOver, false);
    assert.equal(request.isOver, false);
    request.cancel();
    await settle();
    assert.equal(backend.isOver, true);
    const { by, code } = await bed.end.transport.closed;
    assert.deepEqual([by, code], ["remote", 0n]);
    assert.deepEqual(
      client.ends.map(({ rid, isAbrupt }) => ({ rid, isAbrupt })),
      [{ rid: ridOf("r1"), isAbrupt: false }],
    );
    assert.deepEqual(bed.states, [["r1", "draining"]]);
  });

  test("a session without requests is closed at once", async () => {
    const bed = new RelayBed();
    const backend = bed.client().open("r1");
    await opened(backend);
    bed.end.session.goaway({ timeout: 4000 });
    await settle();
    assert.equal(backend.isOver, true);
    assert.equal((await bed.end.transport.closed).code, 0n);
  });

  test("what still needs the session keeps it, however often it says that it does not", async () => {
    const bed = new RelayBed();
    const backend = bed.client().open("r1");
    const first = backend.use();
    const second = backend.use();
    const { request } = await subscribe(bed, backend);
    bed.end.session.goaway();
    request.cancel();
    first();
    first();
    await settle();
    assert.equal(backend.isOver, false);
    second();
    await settle();
    assert.equal(backend.isOver, true);
  });

  test("a session that the relay ends after it is not lost: the relay stays Draining [LB-S45] [LB-A10]", async () => {
    for (const code of ["NO_ERROR", "GOAWAY_TIMEOUT"] as const) {
      const bed = new RelayBed();
      const client = bed.client();
      await subscribe(bed, client.open("r1"));
      bed.end.session.goaway({ timeout: 1000 });
      await settle();
      bed.end.session.close(code);
      await settle();
      assert.deepEqual(
        client.ends.map(({ close, isAbrupt }) => [close.code, isAbrupt]),
        [[sessionErrorCodes[code], false]],
      );
      assert.deepEqual(bed.states, [["r1", "draining"]]);
    }
  });
});

describe("a session to a relay that ends", () => {
  test("without GOAWAY makes the relay Unhealthy, whatever the code [LB-HEALTH-5] [LB-A10]", async () => {
    for (const code of ["NO_ERROR", "INTERNAL_ERROR", "GOAWAY_TIMEOUT"] as const) {
      const bed = new RelayBed();
      const client = bed.client();
      const backend = client.open("r1");
      const { request } = await subscribe(bed, backend);
      bed.end.session.close(code);
      await settle();
      assert.equal(backend.isOver, true);
      assert.equal((await request.ended).how, "closed");
      assert.deepEqual(
        client.ends.map(({ rid, isAbrupt }) => ({ rid, isAbrupt })),
        [{ rid: ridOf("r1"), isAbrupt: true }],
      );
      assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
      assert.equal(bed.relays.count, 0);
    }
  });

  test("for what a client has sent speaks against the relay only where it serves nobody else [LB-S76] [LB-HEALTH-5]", async () => {
    for (const code of [
      "PROTOCOL_VIOLATION",
      "DUPLICATE_TRACK_ALIAS",
      "DATA_STREAM_TIMEOUT",
    ] as const) {
      const bed = new RelayBed();
      const clients = [bed.client(), bed.client()];
      for (const client of clients) await subscribe(bed, client.open("r1"));
      const [first, second] = bed.ends;
      first?.session.close(code);
      await settle();
      assert.equal(clients[0]?.ends[0]?.isAbrupt, true);
      assert.deepEqual(bed.states, []);
      second?.session.close(code);
      await settle();
      assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
    }
  });

  test("as relays do that fail speaks against it, whoever else it serves [LB-HEALTH-5]", async () => {
    for (const code of ["NO_ERROR", "INTERNAL_ERROR"] as const) {
      const bed = new RelayBed();
      for (const client of [bed.client(), bed.client()]) await subscribe(bed, client.open("r1"));
      bed.end.session.close(code);
      await settle();
      assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
    }
  });

  test("by silence while requests are open: the same [LB-HEALTH-5] [LB-A10]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    await subscribe(bed, client.open("r1"));
    bed.end.transport.expire();
    await settle();
    assert.equal(client.ends[0]?.isAbrupt, true);
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
  });

  test("by silence while none is open: that changes nothing [LB-S45] [LB-A10]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    const { request } = await subscribe(bed, client.open("r1"));
    request.cancel();
    await settle();
    bed.end.transport.expire();
    await settle();
    assert.equal(client.ends[0]?.isAbrupt, false);
    assert.deepEqual(bed.states, []);
  });

  test("the view of a lost relay stays until a newer version [LB-HEALTH-6]", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    await subscribe(bed, client.open("r1"));
    bed.end.session.close("INTERNAL_ERROR");
    await settle();
    // Not even a session that works again ends it: only the agent does.
    await opened(client.open("r1"));
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
    bed.holder.active = pool(2);
    assert.deepEqual(bed.states, []);
  });

  test("lost after a GOAWAY of another session makes a Draining relay Unhealthy [LB-HEALTH-5]", async () => {
    const bed = new RelayBed();
    await subscribe(bed, bed.client().open("r1"));
    bed.end.session.goaway({ timeout: 1000 });
    await subscribe(bed, bed.client().open("r1"));
    bed.end.transport.close(1n, "");
    await settle();
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
  });

  test("for what a client has shown: that client's requests end, the relay is not to blame", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    await subscribe(bed, client.open("r1"));
    bed.end.session.close("UNAUTHORIZED");
    await settle();
    assert.equal(client.ends[0]?.isAbrupt, true);
    assert.deepEqual(bed.states, []);
  });

  test("because the relay breaks the protocol: the client's session does not hear of it, the relay is Unhealthy", async () => {
    const bed = new RelayBed();
    const client = bed.client();
    await subscribe(bed, client.open("r1"));
    bed.end.session.goaway();
    const stream = await bed.end.transport.openUni();
    // A second control stream is nothing that a relay may open.
    await stream.write(new Uint8Array([0xaf, 0x00, 0x00, 0x00]));
    await settle();
    assert.equal(client.ends.length, 1);
    assert.equal(client.ends[0]?.close.by, "local");
    assert.equal(client.ends[0]?.close.code, sessionErrorCodes.PROTOCOL_VIOLATION);
  });

  test("through a fault in a handler of ours: the relay is not to blame", async () => {
    const faults: unknown[] = [];
    const bed = new RelayBed({ onFault: (error) => faults.push(error) });
    const client = bed.client({
      handlers: {
        onRequest: () => {},
        onDataStream: () => {},
        onDatagram: () => {},
        onGoaway: () => {
          throw new Error("a handler that fails");
        },
        onClosed: () => {},
      },
    });
    const backend = client.open("r2");
    await subscribe(bed, backend);
    const before = bed.states;
    bed.end.session.goaway();
    await settle();
    assert.equal(faults.length, 1);
    assert.equal(backend.isOver, true);
    assert.deepEqual(before, []);
    assert.deepEqual(bed.states, [["r2", "draining"]]);
  });
});

describe("a session to a relay without requests", () => {
  test("is closed with NO_ERROR after the idle timeout, which says nothing of the relay [LB-S45]", async () => {
    const bed = new RelayBed({ limits: { backendIdleTimeout: 2000 } });
    const client = bed.client();
    const { request } = await subscribe(bed, client.open("r1"));
    await pass(bed.clock, 5000, 500);
    assert.equal(request.isOver, false);
    request.cancel();
    await pass(bed.clock, 1900, 100);
    assert.equal(client.ends.length, 0);
    await pass(bed.clock, 200, 100);
    assert.deepEqual(
      client.ends.map(({ close, isAbrupt }) => [close.by, close.code, isAbrupt]),
      [["local", 0n, false]],
    );
    assert.equal((await bed.end.transport.closed).code, 0n);
    assert.deepEqual(bed.states, []);
    assert.equal(bed.relays.count, 0);
    assert.equal(bed.clock.pending, 0);
  });

  test("takes no request from when it is closed on: the next one opens another [LB-PSETUP-6]", async () => {
    const bed = new RelayBed({ limits: { backendIdleTimeout: 2000 } });
    const client = bed.client();
    const backend = client.open("r1");
    (await subscribe(bed, backend)).request.cancel();
    await settle();
    bed.clock.advance(2000);
    // Its transport has not told yet that it is over.
    assert.equal(backend.isOver, false);
    const next = client.open("r1");
    assert.notEqual(next, backend);
    await subscribe(bed, next);
    assert.equal(backend.isOver, true);
    assert.deepEqual(bed.states, []);
  });

  test("is kept by a request that comes meanwhile, and counts anew after it", async () => {
    const bed = new RelayBed({ limits: { backendIdleTimeout: 2000 } });
    const client = bed.client();
    const backend = client.open("r1");
    const first = await subscribe(bed, backend);
    first.request.cancel();
    await pass(bed.clock, 1500, 500);
    const second = await subscribe(bed, backend);
    await pass(bed.clock, 3000, 500);
    assert.equal(backend.isOver, false);
    second.request.cancel();
    await pass(bed.clock, 1500, 500);
    assert.equal(backend.isOver, false);
    await pass(bed.clock, 1000, 500);
    assert.equal(backend.isOver, true);
  });
});

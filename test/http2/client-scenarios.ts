/** What a client connection of ours does on the wire, and tells, on any runtime. */

import assert from "node:assert/strict";
import { type OutgoingHttpHeaders, sensitiveHeaders } from "node:http2";
import { describe, test } from "#test";
import { concatBytes } from "../../src/bytes.ts";
import { http2ErrorCodes } from "../../src/client-group/mod.ts";
import { Http2CallError } from "../../src/http2/mod.ts";
import {
  codes,
  dataFrame,
  flags,
  frame,
  frameTypes,
  goawayFrame,
  groupControlFrame,
  headersFrames,
  readUint32,
  resetFrame,
  settings,
} from "../support/http2/frames.ts";
import { ClientBed, type ClientBedOptions } from "./client-bed.ts";

type Scenario = (
  name: string,
  options: ClientBedOptions,
  body: (bed: ClientBed) => Promise<void>,
) => void;

export function clientScenarios(): void {
  const scenario: Scenario = (name, options, body) => {
    test(name, async () => {
      const bed = await ClientBed.open(options);
      try {
        await body(bed);
      } finally {
        await bed.close();
      }
    });
  };
  describe("a client connection of HTTP/2", () => {
    negotiation(scenario);
    groupControl(scenario);
    framing(scenario);
    goaway(scenario);
    resets(scenario);
    sending(scenario);
    messages(scenario);
    flow(scenario);
    ends(scenario);
  });
}

function negotiation(scenario: Scenario): void {
  for (const secure of [false, true]) {
    scenario(
      `says SHARED_CONNECTION = 1 in its first SETTINGS frame, over ${secure ? "TLS" : "TCP"} [CG-PROC-1, CG-SET-13]`,
      { secure },
      async ({ peer }) => {
        await peer.until("SETTINGS", () => peer.settings[0]);
        assert.equal(peer.frames[0]?.type, frameTypes.SETTINGS);
        const first = new Map(peer.settings[0]);
        assert.equal(first.get(settings.SHARED_CONNECTION), 1);
        assert.equal(first.get(settings.ENABLE_PUSH), 0);
        // Bun gives back what waits to be read, up to as much again.
        const window = "Bun" in globalThis ? 65_536 : 131_072;
        assert.equal(first.get(settings.INITIAL_WINDOW_SIZE), window);
        assert.equal(first.has(settings.SHARED_CONNECTION_POLICY), false);
      },
    );
  }

  scenario("says nothing of sharing where it does not offer it", { offer: false }, async (bed) => {
    bed.request("/a");
    await bed.peer.request(0);
    for (const pairs of bed.peer.settings) {
      assert.ok(pairs.every(([id]) => id !== settings.SHARED_CONNECTION));
    }
  });

  scenario(
    "tells each SETTINGS frame with unknown settings, which change nothing [D08, CG-PROC-12]",
    {
      settings: [
        [0x4242, 7],
        [settings.SHARED_CONNECTION_POLICY, 3],
        [settings.MAX_CONCURRENT_STREAMS, 9],
      ],
    },
    async (bed) => {
      await bed.untilTold("settings [[16962,7],[61634,3],[3,9]]");
      assert.equal(bed.connection.peerMaxConcurrentStreams, 9);
      const outcome = bed.request("/a");
      (await bed.peer.request(0)).respond(200, [], "hello");
      await bed.until("the response", () => outcome.ended);
      bed.peer.sendSettings([[settings.MAX_CONCURRENT_STREAMS, 5]]);
      await bed.untilTold("settings [[3,5]]");
      assert.equal(bed.connection.peerMaxConcurrentStreams, 5);
    },
  );

  scenario(
    "ends with PROTOCOL_ERROR where a later SETTINGS frame changes the policy [CG-PROC-10, D05]",
    { settings: [[settings.SHARED_CONNECTION_POLICY, 2]] },
    async (bed) => {
      bed.peer.sendSettings([[settings.SHARED_CONNECTION_POLICY, 2]]);
      await bed.peer.ping();
      assert.deepEqual(bed.peer.goaways, []);
      bed.peer.sendSettings([[settings.SHARED_CONNECTION_POLICY, 3]]);
      await endsWith(bed, codes.PROTOCOL_ERROR);
    },
  );
}

/** The connection ends with this code: on the wire, and as it is told. */
async function endsWith(bed: ClientBed, code: number): Promise<void> {
  const { code: said } = await bed.peer.goaway();
  assert.equal(said, code);
  await bed.peer.over();
  await bed.until("the end", () => bed.told.some((line) => line.startsWith("closed")));
  const name = Object.entries(http2ErrorCodes).find(([, value]) => Number(value) === code)?.[0];
  assert.equal(bed.told.at(-1), `closed ${name}`);
  assert.equal(bed.peer.goaways.length, 1);
}

function groupControl(scenario: Scenario): void {
  for (const by of ["frame", "octet"] as const) {
    scenario(
      `tells GROUP_CONTROL in order with the frames around it, ${by} by ${by}; R and flags are ignored [CG-FRAME2-8, E01]`,
      {},
      async (bed) => {
        const outcome = bed.request("/a");
        const other = bed.request("/b");
        await bed.peer.request(1);
        const { encoder } = bed.peer;
        const flagged = groupControlFrame(907, 0, 1, 43);
        flagged[4] = 0xff;
        flagged[9 + 9] = 0x80;
        const bytes = concatBytes(
          groupControlFrame(907, 1, 60),
          ...headersFrames(1, encoder.encode([[":status", "200"]]), false),
          flagged,
          dataFrame(1, new Uint8Array(5).fill(0x61), false),
          resetFrame(3, codes.CANCEL),
          groupControlFrame(5, 3, 0),
          dataFrame(1, new Uint8Array(5).fill(0x62), true),
        );
        if (by === "frame") bed.peer.write(bytes);
        else for (const octet of bytes) bed.peer.write(Uint8Array.of(octet));
        await bed.until("the response", () => outcome.ended && other.closed);
        assert.deepEqual(bed.told.slice(-5), [
          "group-control 907 1 60 0",
          "headers 1 false",
          "group-control 907 0 1 43",
          "reset 3 8",
          "group-control 5 3 0 0",
        ]);
        assert.equal(outcome.content, "aaaaabbbbb");
      },
    );
  }

  for (const length of [12, 14, 0]) {
    scenario(
      `GROUP_CONTROL of ${length} octets is FRAME_SIZE_ERROR [CG-FRAME2-11, E01]`,
      {},
      async (bed) => {
        bed.peer.write(frame(frameTypes.GROUP_CONTROL, 0, 0, new Uint8Array(length)));
        await endsWith(bed, codes.FRAME_SIZE_ERROR);
      },
    );
  }

  scenario("GROUP_CONTROL on a stream is PROTOCOL_ERROR [CG-FRAME2-10, E01]", {}, async (bed) => {
    bed.request("/a");
    await bed.peer.request(0);
    bed.peer.write(groupControlFrame(907, 1, 60, 0, 1));
    await endsWith(bed, codes.PROTOCOL_ERROR);
  });

  scenario(
    "GROUP_CONTROL on a connection that is not offered to be shared is PROTOCOL_ERROR [CG-ERR-3]",
    { offer: false },
    async (bed) => {
      bed.peer.write(groupControlFrame(907, 1, 60));
      await endsWith(bed, codes.PROTOCOL_ERROR);
    },
  );

  scenario(
    "GROUP_CONTROL between HEADERS and CONTINUATION is PROTOCOL_ERROR [E14]",
    {},
    async (bed) => {
      bed.request("/a");
      await bed.peer.request(0);
      const block = bed.peer.encoder.encode([
        [":status", "200"],
        ["x-long", "y".repeat(100)],
      ]);
      const [first, second] = headersFrames(1, block, false, 2);
      bed.peer.write(first as Uint8Array, groupControlFrame(907, 1, 60), second as Uint8Array);
      await endsWith(bed, codes.PROTOCOL_ERROR);
    },
  );
}

function framing(scenario: Scenario): void {
  scenario("frames of unknown types mean nothing, wherever they are [D09]", {}, async (bed) => {
    const outcome = bed.request("/a");
    await bed.peer.request(0);
    bed.peer.write(
      frame(0x42, 0xff, 1, new Uint8Array(16_384)),
      frame(0xa, 0, 0, new Uint8Array(3)),
      frame(0xc, 0, 0, new Uint8Array(9)),
      ...headersFrames(1, bed.peer.encoder.encode([[":status", "200"]]), false),
      frame(0x43, 0, 1, new Uint8Array(0)),
      dataFrame(1, new Uint8Array(3).fill(0x61), true),
    );
    await bed.until("the response", () => outcome.ended);
    assert.equal(outcome.content, "aaa");
  });

  scenario("GOAWAY on a stream is PROTOCOL_ERROR [A15]", {}, async (bed) => {
    const wrong = goawayFrame(1, 0);
    wrong[8] = 1;
    bed.peer.write(wrong);
    await endsWith(bed, codes.PROTOCOL_ERROR);
  });

  scenario("a frame larger than it takes is FRAME_SIZE_ERROR", {}, async (bed) => {
    bed.peer.write(frame(0x42, 0, 0, new Uint8Array(16_385)));
    await endsWith(bed, codes.FRAME_SIZE_ERROR);
  });

  scenario(
    "a first frame that is not SETTINGS is PROTOCOL_ERROR",
    { settings: "hold" },
    async (bed) => {
      bed.peer.write(frame(frameTypes.PING, 0, 0, new Uint8Array(8)));
      await endsWith(bed, codes.PROTOCOL_ERROR);
    },
  );
}

function goaway(scenario: Scenario): void {
  scenario(
    "GOAWAY in two steps: streams up to the boundary go on to their end, those above end, no new ones [A04, A05]",
    {},
    async (bed) => {
      const [one, three, five] = [
        bed.request("/1"),
        bed.request("/3", { open: true }),
        bed.request("/5"),
      ] as const;
      await bed.peer.request(2);
      bed.peer.sendGoaway(0x7fff_ffff);
      await bed.untilTold("goaway 2147483647 0");
      assert.throws(() => bed.request("/7"), isNotOpen);
      (await bed.peer.request(0)).respond(200, []);
      await bed.until("a response between the two", () => one.ended);
      await bed.peer.ping();
      assert.deepEqual([three.closed, five.closed], [false, false]);
      three.stream.write("more");
      await bed.peer.until(
        "content between the two",
        () => bed.peer.content(3).length === 4 || undefined,
      );
      bed.peer.sendGoaway(3);
      await bed.until("the end of stream 5", () => five.closed);
      assert.deepEqual([five.status, five.ended && five.content !== ""], [undefined, false]);
      assert.equal(three.closed, false);
      const { length } = bed.peer.frames;
      three.stream.end("last");
      const content = "y".repeat(300_000);
      (await bed.peer.request(1)).respond(200, [], content);
      await bed.until("the response", () => three.ended);
      assert.equal(three.content, content);
      await bed.peer.over();
      assert.equal(new TextDecoder().decode(bed.peer.content(3)), "morelast");
      assert.deepEqual(bed.peer.goaways, [{ last: 0, code: 0 }]);
      const after = bed.peer.frames.slice(length);
      assert.ok(after.every(({ streamId }) => streamId === 0 || streamId === 3));
      assert.equal(bed.peer.requests.length, 3);
      assert.equal(bed.told.at(-1), "closed");
    },
  );

  scenario("GOAWAY on an idle connection ends it at once [A17]", {}, async (bed) => {
    bed.peer.sendGoaway(0);
    await bed.peer.over();
    assert.deepEqual(bed.peer.goaways, [{ last: 0, code: 0 }]);
    await bed.untilTold("closed");
    assert.throws(() => bed.request("/1"), isNotOpen);
  });

  scenario("GOAWAY with an error leaves the streams below its boundary alone", {}, async (bed) => {
    const one = bed.request("/1");
    const request = await bed.peer.request(0);
    bed.peer.sendGoaway(1, codes.ENHANCE_YOUR_CALM);
    await bed.untilTold("goaway 1 11");
    request.respond(200, [], "still here");
    await bed.until("the response", () => one.ended);
    assert.equal(one.content, "still here");
  });

  scenario("close() waits for the last stream, then says GOAWAY", {}, async (bed) => {
    const one = bed.request("/1");
    const request = await bed.peer.request(0);
    bed.connection.close();
    assert.throws(() => bed.request("/3"), isNotOpen);
    await bed.peer.ping();
    assert.deepEqual(bed.peer.goaways, []);
    request.respond(200, [], "yes");
    await bed.until("the response", () => one.ended);
    await bed.peer.over();
    assert.equal(one.content, "yes");
    assert.deepEqual(bed.peer.goaways, [{ last: 0, code: 0 }]);
  });
}

function isNotOpen(error: unknown): boolean {
  return error instanceof Http2CallError && error.code === "NOT_OPEN";
}

function isFull(error: unknown): boolean {
  return error instanceof Http2CallError && error.code === "FULL";
}

function resets(scenario: Scenario): void {
  for (const when of ["at once", "later"] as const) {
    scenario(
      `resets with the exact code, one RST_STREAM and nothing after it, ${when} [B08]`,
      {},
      async (bed) => {
        const asked = [
          codes.CANCEL,
          codes.REFUSED_STREAM,
          codes.NO_ERROR,
          codes.ENHANCE_YOUR_CALM,
          0xfeed,
        ];
        const kinds = [{}, { open: true }, { open: true }, {}, { open: true }];
        const outcomes = asked.map((_, index) => bed.request(`/${index}`, kinds[index]));
        outcomes[1]?.stream.write("begun");
        if (when === "later") await bed.peer.request(4);
        outcomes[2]?.stream.write("written in the same turn");
        for (const [index, { id }] of outcomes.entries()) {
          bed.connection.reset(id, asked[index] as number);
          bed.connection.reset(id, codes.INTERNAL_ERROR);
        }
        await Promise.all(outcomes.map(({ id }) => bed.peer.reset(id)));
        await bed.until("all streams to close", () => outcomes.every(({ closed }) => closed));
        await bed.peer.ping();
        for (const [index, { id }] of outcomes.entries()) {
          const of = bed.peer.frames.filter(({ streamId }) => streamId === id);
          const resetAt = of.findIndex(({ type }) => type === frameTypes.RST_STREAM);
          assert.equal(resetAt, of.length - 1, bed.peer.transcript());
          assert.equal(bed.peer.stream(id).reset, asked[index]);
          if (when === "later") {
            assert.equal(bed.peer.stream(id).ended, kinds[index]?.open !== true);
          }
        }
        assert.equal(bed.connection.openStreams, 0);
        const next = bed.request("/next");
        (await bed.peer.request((request) => request.path === "/next")).respond(204);
        await bed.until("another response", () => next.ended);
      },
    );
  }

  scenario(
    "content that a reset holds back is not missing from the connection's window",
    { automatic: { window: false } },
    async (bed) => {
      const first = bed.request("/1", { open: true });
      await bed.peer.request(0);
      first.stream.write(new Uint8Array(50_000));
      bed.connection.reset(first.id, codes.CANCEL);
      await bed.peer.reset(first.id);
      const spent = bed.peer.content(first.id).length;
      const second = bed.request("/3", { open: true });
      second.stream.end(new Uint8Array(65_535 - spent));
      await bed.peer.until("all content", () => bed.peer.stream(second.id).ended || undefined);
      assert.equal(bed.peer.content(second.id).length, 65_535 - spent);
    },
  );

  scenario(
    "a reset by the origin is told with its code, whatever node:http2 makes of it [B07, B03, B05]",
    {},
    async (bed) => {
      const outcomes = [
        codes.CANCEL,
        codes.REFUSED_STREAM,
        codes.ENHANCE_YOUR_CALM,
        codes.NO_ERROR,
      ].map((code) => ({ code, outcome: bed.request(`/${code}`) }));
      const other = bed.request("/other");
      await bed.peer.request(4);
      const [begun] = outcomes;
      bed.peer.headers(begun?.outcome.id as number, [[":status", "200"]]);
      await bed.peer.data(begun?.outcome.id as number, new Uint8Array(10));
      for (const { code, outcome } of outcomes) bed.peer.rst(outcome.id, code);
      await bed.until("the streams to close", () =>
        outcomes.every(({ outcome }) => outcome.closed),
      );
      for (const { code, outcome } of outcomes) {
        assert.ok(bed.told.includes(`reset ${outcome.id} ${code}`));
      }
      bed.peer.requests[4]?.respond(200, [], "untouched");
      await bed.until("the other response", () => other.ended);
      assert.equal(other.content, "untouched");
    },
  );
}

function sending(scenario: Scenario): void {
  scenario("tells which requests were handed to the socket [C08, CG-MAP-4]", {}, async (bed) => {
    bed.request("/a");
    bed.request("/b", { open: true });
    await bed.peer.request(1);
    assert.deepEqual(
      bed.told.filter((line) => line.startsWith("sent")),
      ["sent 1", "sent 3"],
    );
  });

  scenario(
    "at the origin's limit nothing is sent, and what lets the first go on is still read [J07, D01]",
    { settings: [[settings.MAX_CONCURRENT_STREAMS, 1]] },
    async (bed) => {
      await bed.until("SETTINGS", () => bed.connection.peerMaxConcurrentStreams === 1);
      await bed.peer.ping();
      const first = bed.request("/1", { open: true });
      assert.throws(() => bed.request("/3"), isFull);
      await bed.peer.request(0);
      assert.throws(() => bed.request("/3"), isFull);
      first.stream.end(new Uint8Array(200_000));
      await bed.peer.until("content", () => bed.peer.stream(1).ended || undefined);
      assert.equal(bed.peer.content(1).length, 200_000);
      bed.peer.requests[0]?.respond(200, [], "done");
      await bed.until("the response", () => first.ended);
      const second = bed.request("/3");
      (await bed.peer.request(1)).respond(204);
      await bed.until("the second response", () => second.ended);
      assert.deepEqual(
        bed.told.filter((line) => line.startsWith("sent")),
        ["sent 1", "sent 3"],
      );
    },
  );

  scenario(
    "fields that HTTP/2 has no place for are refused at once, and the connection goes on [F04]",
    {},
    async (bed) => {
      const illegal: OutgoingHttpHeaders[] = [
        { "bad name": "x" },
        { "client-group\t": "1" },
        { "": "x" },
        { "x-value": "a\r\nb: c" },
        { "x-value": "\u0000" },
        { "x-value": "\u0100" },
        { connection: "close" },
        { "Transfer-Encoding": "chunked" },
      ];
      for (const fields of illegal) {
        assert.throws(
          () => bed.request("/bad", { fields }),
          (error) => error instanceof Http2CallError && error.code === "INVALID_FIELDS",
          JSON.stringify(fields),
        );
      }
      const good = bed.request("/good", { fields: { "x-value": "caf\u00e9\tok" } });
      const request = await bed.peer.request(0);
      assert.equal(request.path, "/good");
      request.respond(204);
      await bed.until("the response", () => good.ended);
    },
  );

  scenario(
    "header blocks of several frames go without anything in between, and never-indexed fields stay so [G03, G04, G07]",
    {},
    async (bed) => {
      const long = "v".repeat(30_000);
      const sensitive = ["cookie", "authorization", "x-secret", "x-long"];
      const fields = {
        cookie: "session=0123456789012345678901234567890123456789",
        authorization: "Bearer abc",
        "x-secret": "1",
        "x-long": long,
        "x-plain": "2",
      };
      for (let round = 0; round < 3; round++) {
        const upload = bed.request(`/upload${round}`, { open: true });
        bed.request(`/${round}`, { fields, sensitive });
        upload.stream.end(new Uint8Array(30_000));
      }
      await bed.peer.request(5);
      assert.ok(bed.peer.received("CONTINUATION").length >= 3);
      for (const { head, path } of bed.peer.requests) {
        if (path.startsWith("/upload")) continue;
        assert.equal(head.get("x-long"), long);
        for (const name of sensitive)
          assert.equal(head.representation(name), "never-indexed", name);
        assert.notEqual(head.representation("x-plain"), "never-indexed");
      }
      assert.equal(bed.peer.fault, undefined);
    },
  );
}

function messages(scenario: Scenario): void {
  scenario(
    "gives out informational responses, trailers, and which fields came never-indexed",
    {},
    async (bed) => {
      const one = bed.request("/1");
      const request = await bed.peer.request(0);
      bed.peer.headers(1, [
        [":status", "103"],
        ["link", "</a>"],
      ]);
      bed.peer.headers(1, [
        [":status", "200"],
        ["x-secret", "s", "never-indexed"],
        ["set-cookie", "a=b", "never-indexed"],
        ["x-plain", "p"],
      ]);
      await bed.peer.data(request.id, new Uint8Array(3).fill(0x61));
      bed.peer.headers(1, [["x-checksum", "7"]], { endStream: true });
      await bed.until("the end", () => one.closed);
      assert.equal(one.informational[0]?.[":status"], 103);
      assert.equal(one.informational[0]?.link, "</a>");
      assert.equal(one.status, 200);
      assert.deepEqual(
        [
          ...((one.fields as Record<symbol, unknown>)[
            sensitiveHeaders as unknown as symbol
          ] as string[]),
        ].sort(),
        ["set-cookie", "x-secret"],
      );
      assert.equal(one.trailers?.["x-checksum"], "7");
      assert.equal(one.content, "aaa");
      assert.deepEqual(
        bed.told.filter((line) => line.startsWith("headers")),
        ["headers 1 false", "headers 1 false", "headers 1 true"],
      );
    },
  );

  scenario("sends trailers", {}, async (bed) => {
    const { stream } = bed.connection.request(
      { ":method": "POST", ":path": "/t" },
      { endStream: false, sensitive: [], trailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-checksum": "7" }));
    stream.end("content");
    const request = await bed.peer.request(0);
    assert.equal(await request.content(), "content");
    assert.equal(request.stream.sections[1]?.get("x-checksum"), "7");
  });

  scenario("takes responses without content: HEAD, 204, 304", {}, async (bed) => {
    const head = bed.request("/1", { method: "HEAD" });
    const none = bed.request("/3");
    const same = bed.request("/5");
    await bed.peer.request(2);
    bed.peer.requests[0]?.respond(200, [["content-length", "1000"]]);
    bed.peer.requests[1]?.respond(204);
    bed.peer.requests[2]?.respond(304);
    await bed.until("the ends", () => head.ended && none.ended && same.ended);
    assert.deepEqual([head.status, none.status, same.status], [200, 204, 304]);
    assert.equal(head.fields?.["content-length"], "1000");
  });
}

function flow(scenario: Scenario): void {
  scenario(
    "readers that stall do not hold up the others, even within the smallest connection window [J01]",
    { client: { initialWindowSize: 65_535, connectionWindow: 65_535 } },
    async (bed) => {
      const stalled = ["/1", "/3", "/5"].map((path) => bed.request(path, { reading: false }));
      const reading = bed.request("/7");
      await bed.peer.request(3);
      for (const { id } of stalled) {
        bed.peer.headers(id, [[":status", "200"]]);
        await bed.peer.data(id, new Uint8Array(60_000));
      }
      const content = "z".repeat(500_000);
      bed.peer.requests[3]?.respond(200, [], content);
      await bed.until("the other response", () => reading.ended);
      assert.equal(reading.content, content);
      // What a stalled reader can make us hold is its stream's window, or twice that on Bun.
      const updates = bed.peer.received("WINDOW_UPDATE");
      for (const { id } of stalled) {
        const given = updates
          .filter(({ streamId }) => streamId === id)
          .reduce((sum, { payload }) => sum + readUint32(payload), 0);
        assert.ok(given <= 65_535, `${given} given to a stalled stream`);
      }
    },
  );

  for (const secure of [false, true]) {
    scenario(
      `carries content both ways as it is, over ${secure ? "TLS" : "TCP"}`,
      { secure },
      async (bed) => {
        const text = Array.from({ length: 100_000 }, (_, index) => `${index} `).join("");
        const streams = [0, 1, 2].map((index) => bed.request(`/${index}`, { open: true }));
        for (const { stream } of streams) stream.end(text);
        for (const index of [0, 1, 2]) {
          const request = await bed.peer.request((one) => one.path === `/${index}`);
          assert.equal(await request.content(), text);
          request.respond(200, [], text);
        }
        await bed.until("the responses", () => streams.every(({ ended }) => ended));
        for (const { content } of streams) assert.equal(content, text);
      },
    );
  }
}

function ends(scenario: Scenario): void {
  scenario(
    "FIN without GOAWAY: told before streams end, and what was received to its end is read to its end [B07, C01]",
    {},
    async (bed) => {
      const whole = bed.request("/1", { reading: false });
      const cut = bed.request("/3", { reading: false });
      const waiting = bed.request("/5");
      await bed.peer.request(2);
      const order: string[] = [];
      for (const { id, stream } of [whole, cut, waiting]) {
        stream.on("close", () => order.push(`close ${id} ${bed.told.at(-1)}`));
      }
      const content = "w".repeat(60_000);
      bed.peer.requests[0]?.respond(200, [], content);
      bed.peer.headers(3, [[":status", "200"]]);
      await bed.peer.data(3, new Uint8Array(1000));
      await bed.untilTold("headers 3 false");
      await bed.peer.ping();
      bed.peer.kill("fin");
      await bed.until("the two to close", () => cut.closed && waiting.closed);
      assert.deepEqual(order.sort(), ["close 3 closed", "close 5 closed"]);
      assert.deepEqual([cut.ended, waiting.status, whole.closed], [false, undefined, false]);
      whole.stream.setEncoding("latin1");
      whole.stream.on("data", (text: string) => {
        whole.content += text;
      });
      await bed.until("the whole response", () => whole.closed);
      assert.equal(whole.content, content);
      assert.ok(whole.ended);
      assert.equal(bed.told.filter((line) => line.startsWith("closed")).length, 1);
    },
  );

  scenario("fail() ends the connection with its code", {}, async (bed) => {
    const one = bed.request("/1");
    await bed.peer.request(0);
    bed.connection.fail(codes.ENHANCE_YOUR_CALM, "enough");
    assert.throws(() => bed.request("/3"), isNotOpen);
    await endsWith(bed, codes.ENHANCE_YOUR_CALM);
    await bed.until("the stream to close", () => one.closed);
    assert.equal(one.ended && one.content !== "", false);
  });

  scenario("destroy() ends it without a word", {}, async (bed) => {
    const one = bed.request("/1");
    await bed.peer.request(0);
    bed.connection.destroy();
    await bed.peer.over();
    await bed.until("the stream to close", () => one.closed);
    assert.deepEqual(bed.told.at(-1), "closed");
  });

  scenario("what node:http2 finds wrong is told as the error it is", {}, async (bed) => {
    bed.request("/1");
    await bed.peer.request(0);
    // An index beyond both HPACK tables.
    bed.peer.write(
      frame(frameTypes.HEADERS, flags.END_HEADERS, 1, Uint8Array.of(0xff, 0xff, 0x7f)),
    );
    const { code } = await bed.peer.goaway();
    // Bun does not tell what it was.
    const name = code === codes.PROTOCOL_ERROR ? "PROTOCOL_ERROR" : "COMPRESSION_ERROR";
    assert.equal(code, codes[name]);
    await bed.untilTold(`closed ${name}`);
  });
}

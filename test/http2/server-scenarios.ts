/** What a server connection of ours does on the wire, and tells, on any runtime. */

import assert from "node:assert/strict";
import { type Http2ServerRequest, sensitiveHeaders } from "node:http2";
import { describe, test } from "#test";
import { concatBytes } from "../../src/bytes.ts";
import { encodeGroupControlFrame, http2ErrorCodes } from "../../src/client-group/mod.ts";
import { Http2ServerConnection } from "../../src/http2/mod.ts";
import {
  codes,
  frame,
  frameTypes,
  goawayFrame,
  groupControlFrame,
  headersFrames,
  readUint32,
  settings,
  windowUpdateFrame,
} from "../support/http2/frames.ts";
import { ServerBed, type ServerBedOptions } from "./server-bed.ts";

type Scenario = (
  name: string,
  options: ServerBedOptions,
  body: (bed: ServerBed) => Promise<void>,
) => void;

export function serverScenarios(): void {
  const scenario: Scenario = (name, options, body) => {
    test(name, async () => {
      const bed = await ServerBed.open(options);
      try {
        await body(bed);
      } finally {
        await bed.close();
      }
    });
  };
  describe("a server connection of HTTP/2", () => {
    negotiation(scenario);
    framing(scenario);
    injection(scenario);
    resets(scenario);
    goaway(scenario);
    messages(scenario);
    flow(scenario);
    ends(scenario);
  });
}

const block = { group: 907, value: 60, action: 1, boundary: 0n };

function negotiation(scenario: Scenario): void {
  for (const tls of [false, true]) {
    scenario(
      `has POLICY in its first SETTINGS frame, over ${tls ? "TLS" : "TCP"} [CG-SET-9, CG-SET-5, CG-SET-16]`,
      { policy: 3n, tls, server: { settings: { maxConcurrentStreams: 77 } } },
      async (bed) => {
        const { client, told } = bed;
        await client.until("SETTINGS", () => client.settings[0]);
        assert.equal(client.frames[0]?.type, frameTypes.SETTINGS);
        const first = new Map(client.settings[0]);
        assert.equal(first.get(settings.SHARED_CONNECTION_POLICY), 3);
        assert.equal(first.get(settings.MAX_CONCURRENT_STREAMS), 77);
        assert.equal(first.has(settings.SHARED_CONNECTION), false);
        await bed.watch.until("SETTINGS", () => told.includes("settings [[2,0]]") || undefined);
      },
    );
  }

  scenario(
    "ends with PROTOCOL_ERROR where SHARED_CONNECTION is 2, and takes POLICY from a client for nothing [CG-SET-3, CG-SET-14, D06]",
    { settings: [[settings.SHARED_CONNECTION_POLICY, 1]] },
    async (bed) => {
      await bed.client.ping();
      assert.deepEqual(bed.client.goaways, []);
      bed.client.sendSettings([[settings.SHARED_CONNECTION, 2]]);
      await endsWith(bed, codes.PROTOCOL_ERROR);
    },
  );
}

/** The connection ends with this code: on the wire, and as it is told. */
async function endsWith(bed: ServerBed, code: number): Promise<void> {
  const { code: said, last } = await bed.client.goaway();
  assert.deepEqual([said, last], [code, bed.connection.lastStreamId]);
  await bed.client.over();
  const name = Object.entries(http2ErrorCodes).find(([, value]) => Number(value) === code)?.[0];
  await bed.untilTold(`closed ${name}`);
  assert.equal(bed.client.goaways.length, 1);
}

function framing(scenario: Scenario): void {
  for (const streamId of [0, 1]) {
    scenario(
      `GROUP_CONTROL from a client is PROTOCOL_ERROR, on stream ${streamId} too [CG-ERR-1, E03]`,
      { settings: [[settings.SHARED_CONNECTION, 1]] },
      async (bed) => {
        bed.client.request({ path: "/a" });
        await bed.request("/a");
        bed.client.write(groupControlFrame(907, 1, 60, 0, streamId));
        await endsWith(bed, codes.PROTOCOL_ERROR);
      },
    );
  }

  scenario("GROUP_CONTROL within a header block is PROTOCOL_ERROR [E14]", {}, async (bed) => {
    const fields = bed.client.encoder.encode([
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
    ]);
    const [first, second] = headersFrames(1, fields, true, 2) as [Uint8Array, Uint8Array];
    bed.client.write(first, groupControlFrame(907, 1, 60), second);
    await endsWith(bed, codes.PROTOCOL_ERROR);
  });

  scenario("GOAWAY on a stream is PROTOCOL_ERROR [A15]", {}, async (bed) => {
    const wrong = goawayFrame(0, 0);
    wrong[8] = 1;
    bed.client.write(wrong);
    await endsWith(bed, codes.PROTOCOL_ERROR);
  });

  scenario(
    "frames of unknown types mean nothing, cut at every octet [D09]",
    { answer: echo },
    async (bed) => {
      const { encoder } = bed.client;
      const head = encoder.encode([
        [":method", "POST"],
        [":scheme", "http"],
        [":authority", "a.example"],
        [":path", "/a"],
      ]);
      const bytes = concatBytes(
        frame(0x42, 0xff, 0, new Uint8Array(30)),
        ...headersFrames(1, head, false, 3),
        frame(0x42, 0xff, 1, new Uint8Array(3)),
        frame(frameTypes.DATA, 0, 1, Uint8Array.of(97, 98)),
        frame(0xff, 0, 1),
        frame(frameTypes.DATA, 1, 1, Uint8Array.of(99)),
      );
      for (const octet of bytes) bed.client.write(Uint8Array.of(octet));
      assert.equal((await bed.client.response(1)).content, "abc");
    },
  );
}

/** Answers with the request's content. */
function echo(...[request, response]: Parameters<NonNullable<ServerBedOptions["answer"]>>): void {
  request.pipe(response);
}

function injection(scenario: Scenario): void {
  scenario(
    "injects whole frames between whole frames, never within a header block [G07, G09]",
    {},
    async (bed) => {
      const ids = Array.from({ length: 6 }, (_, index) =>
        bed.client.request({ path: `/${index}` }),
      );
      const long = "v".repeat(40_000);
      const timer = setInterval(
        () => bed.connection.inject(encodeGroupControlFrame("h2", block)),
        1,
      );
      try {
        for (const index of ids.keys()) {
          const [, response] = await bed.request(`/${index}`);
          bed.connection.inject(encodeGroupControlFrame("h2", block));
          response.writeHead(200, { "x-long": long });
          bed.connection.inject(encodeGroupControlFrame("h2", block));
          response.write("w".repeat(50_000));
          bed.connection.inject(encodeGroupControlFrame("h2", block));
          response.end("w".repeat(50_000));
        }
        for (const id of ids) {
          const { head, content } = await bed.client.response(id);
          assert.equal(head.get("x-long"), long);
          assert.equal(content.length, 100_000);
        }
      } finally {
        clearInterval(timer);
      }
      // The scripted client takes nothing within a header block, and would have told.
      await bed.client.ping();
      const frames = bed.client.received("GROUP_CONTROL");
      assert.ok(frames.length >= 18);
      for (const { payload } of frames) assert.equal(payload.length, 13);
      assert.equal(bed.client.fault, undefined);
    },
  );

  scenario("injects nothing before its SETTINGS", {}, async (bed) => {
    bed.connection.inject(encodeGroupControlFrame("h2", block));
    await bed.client.until("the frame", () => bed.client.received("GROUP_CONTROL")[0]);
    assert.equal(bed.client.frames[0]?.type, frameTypes.SETTINGS);
  });
}

function resets(scenario: Scenario): void {
  for (const begun of ["nothing", "the head", "content", "all"] as const) {
    scenario(
      `resets with the exact code after ${begun} of a response, and nothing follows [B03, B04]`,
      {},
      async (bed) => {
        const asked = [
          codes.CANCEL,
          codes.REFUSED_STREAM,
          codes.NO_ERROR,
          codes.ENHANCE_YOUR_CALM,
          0xfeed,
        ];
        const ids = asked.map((_, index) => bed.client.request({ path: `/${index}` }));
        for (const [index, id] of ids.entries()) {
          const [request, response] = await bed.request(`/${index}`);
          assert.equal(Http2ServerConnection.of(request), bed.connection);
          assert.equal(Http2ServerConnection.of(request.stream), bed.connection);
          if (begun !== "nothing") {
            response.writeHead(200, { "x-index": String(index) });
            (response as unknown as { flushHeaders(): void }).flushHeaders();
          }
          if (begun === "content" || begun === "all") response.write("x".repeat(100_000));
          if (begun === "all") response.end();
          bed.connection.reset(id, asked[index] as number);
          bed.connection.reset(id, codes.INTERNAL_ERROR);
        }
        for (const [index, id] of ids.entries()) {
          assert.equal(await bed.client.reset(id), asked[index]);
        }
        await bed.client.ping();
        for (const id of ids) {
          const of = bed.client.frames.filter(({ streamId }) => streamId === id);
          assert.equal(of.filter(({ type }) => type === frameTypes.RST_STREAM).length, 1);
          assert.equal(of.at(-1)?.type, frameTypes.RST_STREAM, bed.client.transcript());
          assert.equal(bed.client.stream(id).ended, false);
        }
        // The HPACK tables of both ends still agree.
        for (const index of [0, 1]) {
          const next = bed.client.request({ path: `/next${index}` });
          const [, response] = await bed.request(`/next${index}`);
          response.writeHead(200, { "x-index": "0", "x-more": "again and again" });
          response.end("fine");
          const { head, content } = await bed.client.response(next);
          assert.deepEqual([head.get("x-more"), content], ["again and again", "fine"]);
        }
      },
    );
  }

  scenario("resets a request whose content is still coming", {}, async (bed) => {
    const id = bed.client.request({ path: "/up", method: "POST", open: true });
    await bed.request("/up");
    await bed.client.data(id, new Uint8Array(10_000));
    bed.connection.reset(id, codes.REFUSED_STREAM);
    assert.equal(await bed.client.reset(id), codes.REFUSED_STREAM);
    // What was on its way still counts for the connection's window, and is given back.
    for (let sent = 0; sent < 15; sent++) {
      bed.client.write(frame(frameTypes.DATA, 0, id, new Uint8Array(3_000)));
    }
    await bed.client.ping();
    assert.equal(bed.client.stream(id).reset, codes.REFUSED_STREAM);
    const next = bed.client.request({
      path: "/next",
      method: "POST",
      content: new Uint8Array(60_000),
    });
    const [request, response] = await bed.request("/next");
    let received = 0;
    request.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
    });
    request.on("end", () => response.end(String(received)));
    assert.equal((await bed.client.response(next)).content, "60000");
    assert.deepEqual(bed.client.goaways, []);
  });

  scenario(
    "tells resets of the client with their code, and the request ends [B08]",
    {},
    async (bed) => {
      const id = bed.client.request({ path: "/a" });
      const [, response] = await bed.request("/a");
      let closed = false;
      response.stream.on("close", () => {
        closed = true;
        bed.watch.changed();
      });
      bed.client.rst(id, codes.CANCEL);
      await bed.until("the close", () => closed);
      assert.ok(bed.told.includes(`reset ${id} 8`));
      assert.equal(bed.connection.openStreams, 0);
    },
  );
}

function goaway(scenario: Scenario): void {
  scenario(
    "GOAWAY in two steps: what comes in between is served, what comes after is not [A04, A11]",
    {},
    async (bed) => {
      const first = bed.client.request({ path: "/1" });
      await bed.request("/1");
      bed.connection.goaway(0x7fff_ffff, 0);
      await bed.client.goaway();
      const second = bed.client.request({ path: "/3" });
      const [, answer] = await bed.request("/3");
      bed.connection.close();
      await bed.client.until("two GOAWAYs", () => bed.client.goaways[1]);
      assert.deepEqual(bed.client.goaways, [
        { last: 0x7fff_ffff, code: 0 },
        { last: second, code: 0 },
      ]);
      const third = bed.client.request({
        path: "/5",
        fields: [["x-new", "in the table", "incremental"]],
      });
      await bed.client.ping();
      assert.equal(bed.requests.has("/5"), false);
      assert.equal(await bed.client.reset(third), codes.REFUSED_STREAM);
      answer.end("second");
      assert.equal((await bed.client.response(second)).content, "second");
      bed.requests.get("/1")?.[1].end("first");
      assert.equal((await bed.client.response(first)).content, "first");
      await bed.client.over();
      assert.equal(bed.client.stream(third).sections.length, 0);
      await bed.untilTold("closed");
    },
  );

  scenario(
    "GOAWAY of a client: its requests are answered, then the connection ends",
    {},
    async (bed) => {
      const id = bed.client.request({ path: "/1" });
      const [, response] = await bed.request("/1");
      bed.client.sendGoaway(0, codes.NO_ERROR);
      await bed.untilTold("goaway 0 0");
      response.end("yes");
      assert.equal((await bed.client.response(id)).content, "yes");
      await bed.client.over();
      await bed.untilTold("closed");
    },
  );
}

function messages(scenario: Scenario): void {
  scenario(
    "sends informational responses, trailers and never-indexed fields, and tells which came so",
    {},
    async (bed) => {
      const id = bed.client.request({
        path: "/a",
        method: "POST",
        fields: [
          ["authorization", "Bearer x", "never-indexed"],
          ["x-secret", "s", "never-indexed"],
          ["x-plain", "p", "incremental"],
        ],
        content: "abc",
        trailers: [["x-sum", "6"]],
      });
      const [request, response] = await bed.request("/a");
      const { headers } = request as Http2ServerRequest & { headers: Record<symbol, unknown> };
      const came = headers[sensitiveHeaders as unknown as symbol] as string[];
      assert.deepEqual([...came].sort(), ["authorization", "x-secret"]);
      request.resume();
      await new Promise((resolve) => request.on("end", resolve));
      assert.equal(request.trailers["x-sum"], "6");
      response.stream.additionalHeaders({ ":status": 103, link: "</a>" });
      response.addTrailers({ "x-sum": "7" });
      // A response object drops what is said of sensitive fields, on all runtimes; its stream does not.
      response.stream.respond(
        {
          ":status": 200,
          "x-secret": "t",
          "set-cookie": ["a=b", "c=d"],
          [sensitiveHeaders]: ["x-secret", "set-cookie"],
        },
        { waitForTrailers: true },
      );
      response.stream.end("content");
      const { head, informational, trailers, content } = await bed.client.response(id);
      assert.equal(informational[0]?.get("link"), "</a>");
      assert.equal(head.representation("x-secret"), "never-indexed");
      assert.equal(head.representation("set-cookie"), "never-indexed");
      assert.deepEqual(head.all("set-cookie"), ["a=b", "c=d"]);
      assert.equal(trailers?.get("x-sum"), "7");
      assert.equal(content, "content");
    },
  );

  scenario("answers HEAD and 204 without content", {}, async (bed) => {
    const head = bed.client.request({ path: "/head", method: "HEAD" });
    const none = bed.client.request({ path: "/none" });
    const [, first] = await bed.request("/head");
    first.writeHead(200, { "content-length": "1000" });
    first.end();
    const [, second] = await bed.request("/none");
    second.writeHead(204);
    second.end();
    assert.equal((await bed.client.response(head)).head.get("content-length"), "1000");
    assert.equal((await bed.client.response(none)).status, 204);
    assert.equal(bed.client.content(head).length + bed.client.content(none).length, 0);
  });
}

function flow(scenario: Scenario): void {
  scenario("requests that nobody reads do not hold up the others [J01]", {}, async (bed) => {
    const stalled = ["/1", "/3"].map((path) =>
      bed.client.request({ path, method: "POST", open: true }),
    );
    for (const [index, id] of stalled.entries()) {
      await bed.request(index === 0 ? "/1" : "/3");
      await bed.client.data(id, new Uint8Array(60_000));
    }
    const id = bed.client.request({ path: "/5", method: "POST", content: "z".repeat(300_000) });
    echo(...(await bed.request("/5")));
    assert.equal((await bed.client.response(id)).content.length, 300_000);
    for (const one of stalled) {
      const given = bed.client
        .received("WINDOW_UPDATE", one)
        .reduce((sum, { payload }) => sum + readUint32(payload), 0);
      assert.ok(given <= 65_535, `${given} given to a request that nobody reads`);
    }
  });

  for (const tls of [false, true]) {
    scenario(
      `carries content both ways as it is, over ${tls ? "TLS" : "TCP"}`,
      { tls, answer: echo },
      async (bed) => {
        const text = Array.from({ length: 100_000 }, (_, index) => `${index} `).join("");
        const ids = [1, 2, 3].map((index) =>
          bed.client.request({ path: `/${index}`, method: "POST", content: text }),
        );
        for (const id of ids) assert.equal((await bed.client.response(id)).content, text);
      },
    );
  }
}

function ends(scenario: Scenario): void {
  scenario(
    "a client that asks for answers and takes none is told to calm down (RFC 9113 §10.5)",
    { answer: (_request, response) => response.end(new Uint8Array(16_000_000)) },
    async (bed) => {
      bed.client.write(windowUpdateFrame(0, 20_000_000));
      const id = bed.client.request({ path: "/large" });
      bed.client.write(windowUpdateFrame(id, 20_000_000));
      await bed.client.head(id);
      bed.client.socket.pause();
      const ping = frame(frameTypes.PING, 0, 0, new Uint8Array(8));
      const pings = concatBytes(...Array.from({ length: 500 }, () => ping));
      const flood = setInterval(() => bed.client.write(pings), 5);
      try {
        await bed.untilTold("closed ENHANCE_YOUR_CALM");
      } finally {
        clearInterval(flood);
      }
    },
  );

  scenario(
    "what a slow client has not taken yet is not lost when the connection ends",
    { answer: (_request, response) => response.end(new Uint8Array(8_000_000)) },
    async (bed) => {
      bed.client.write(windowUpdateFrame(0, 20_000_000));
      const id = bed.client.request({ path: "/large" });
      bed.client.write(windowUpdateFrame(id, 20_000_000));
      await bed.request("/large");
      bed.connection.close();
      bed.client.socket.pause();
      // Longer than a connection lingers that has nothing left to send.
      await new Promise((resolve) => setTimeout(resolve, 1300));
      bed.client.socket.resume();
      assert.equal((await bed.client.response(id)).content.length, 8_000_000);
      await bed.client.over();
    },
  );

  scenario("fail() ends the connection with its code", {}, async (bed) => {
    bed.client.request({ path: "/1" });
    await bed.request("/1");
    bed.connection.fail(codes.ENHANCE_YOUR_CALM, "enough");
    await endsWith(bed, codes.ENHANCE_YOUR_CALM);
  });

  scenario("close() ends an idle connection with GOAWAY", {}, async (bed) => {
    await bed.client.ping();
    bed.connection.close();
    await bed.client.over();
    assert.deepEqual(bed.client.goaways, [{ last: 0, code: 0 }]);
    await bed.untilTold("closed");
  });

  scenario("FIN of the client ends its requests", {}, async (bed) => {
    bed.client.request({ path: "/1" });
    const [, response] = await bed.request("/1");
    let closed = false;
    response.stream.on("close", () => {
      closed = true;
      bed.watch.changed();
    });
    bed.client.kill("fin");
    await bed.until("the close", () => closed);
    assert.equal(bed.told.filter((line) => line.startsWith("closed")).length, 1);
  });

  scenario("what node:http2 finds wrong is told as the error it is", {}, async (bed) => {
    bed.client.write(frame(frameTypes.HEADERS, 5, 1, Uint8Array.of(0xff, 0xff, 0x7f)));
    const { code } = await bed.client.goaway();
    const name = code === codes.PROTOCOL_ERROR ? "PROTOCOL_ERROR" : "COMPRESSION_ERROR";
    assert.equal(code, codes[name]);
    await bed.untilTold(`closed ${name}`);
  });
}

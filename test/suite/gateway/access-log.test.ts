import assert from "node:assert/strict";
import { describe, test } from "#test";
import { restrictionScope } from "../../../src/client-group/mod.ts";
import { AccessLog, type LogSink, type RequestRecord } from "../../../src/gateway/access-log.ts";
import { settled } from "./fleet-bed.ts";

const noon = Date.UTC(2026, 6, 1, 12);

class TestSink implements LogSink {
  readonly texts: string[] = [];
  reopened = 0;
  closed = false;
  /** Resolved by hand where the sink is slow. */
  gate: Promise<void> = Promise.resolve();
  fault: Error | undefined;

  get lines(): Record<string, unknown>[] {
    return this.texts
      .join("")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  async write(text: string): Promise<void> {
    await this.gate;
    if (this.fault !== undefined) throw this.fault;
    this.texts.push(text);
  }

  async reopen(): Promise<void> {
    this.reopened++;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

function bed(maximumWaiting?: number) {
  const sink = new TestSink();
  const log = new AccessLog({
    sink,
    wallClock: () => noon,
    ...(maximumWaiting !== undefined && { maximumWaiting }),
  });
  return { sink, log };
}

const request: RequestRecord = {
  client: "0123456789abcdef",
  protocol: "h2",
  method: "GET",
  host: "api.example",
  status: 200,
  upstream: { connection: "u1", stream: 43, identifier: 3_735_928_559 },
  retries: 0,
  milliseconds: 12.345,
};

const scope = restrictionScope({
  scheme: "https",
  host: "api.example",
  port: 443,
  validationPolicy: "runtime",
  protocol: "h2",
});

describe("the access log", () => {
  test("has a line for each request, with where it went", async () => {
    const { sink, log } = bed();
    log.request(request);
    await settled();
    assert.deepEqual(sink.lines, [
      {
        time: "2026-07-01T12:00:00.000Z",
        event: "request",
        client: "0123456789abcdef",
        protocol: "h2",
        method: "GET",
        host: "api.example",
        status: 200,
        connection: "u1",
        stream: 43,
        group: 3_735_928_559,
        retries: 0,
        ms: 12.3,
      },
    ]);
  });

  test("ties a GROUP_CONTROL to the client that it hit", async () => {
    const { sink, log } = bed();
    log.request(request);
    log.groupControl({
      connection: "u1",
      origin: "https://api.example",
      identifier: 3_735_928_559,
      action: 1,
      value: 60,
      boundary: 45n,
      effect: "BLOCK",
      client: { key: "header:alice", digest: "0123456789abcdef" },
      scope,
    });
    await settled();
    const [before, frame] = sink.lines;
    assert.deepEqual([frame?.action, frame?.value, frame?.effect], ["BLOCK", 60, "BLOCK"]);
    assert.equal(frame?.client, before?.client);
    assert.equal(frame?.group, before?.group);
    assert.doesNotMatch(sink.texts.join(""), /alice/);
  });

  test("names an action that is not known by its number", async () => {
    const { sink, log } = bed();
    log.groupControl({
      connection: "u1",
      origin: "https://api.example",
      identifier: 1,
      action: 9,
      value: 0,
      boundary: 0n,
      effect: "ignored",
      client: undefined,
      scope,
    });
    await settled();
    assert.equal(sink.lines[0]?.action, "9");
    assert.equal("client" in (sink.lines[0] as object), false);
  });

  test("is one line whatever a client asks for, and not longer for it", async () => {
    const { sink, log } = bed();
    log.request({
      ...request,
      host: `a\n{"event":"request"}${"x".repeat(5_000)}`,
      method: "M\u2028",
    });
    await settled();
    assert.equal(sink.lines.length, 1);
    assert.equal(`${sink.lines[0]?.host}`.length, 255);
  });

  test("loses lines where the sink is slow, says how many, and holds nobody up", async () => {
    const { sink, log } = bed(2_000);
    let open = () => {};
    sink.gate = new Promise((resolve) => {
      open = resolve;
    });
    for (let i = 0; i < 1_000; i++) log.request(request);
    await settled();
    assert.ok(log.lost > 900);
    open();
    await settled();
    const lost = sink.lines.filter(({ event }) => event === "log-lost");
    assert.deepEqual(
      lost.map(({ lines }) => lines),
      [log.lost],
    );
    assert.equal(sink.lines.length - 1 + log.lost, 1_000);
  });

  test("counts what a sink that fails has lost, and goes on once it works", async () => {
    const { sink, log } = bed();
    sink.fault = new Error("no space");
    log.request(request);
    log.request(request);
    await settled();
    assert.equal(log.lost, 2);
    sink.fault = undefined;
    log.request(request);
    await settled();
    assert.equal(sink.lines.filter(({ event }) => event === "request").length, 1);
  });

  test("writes what waits before its file is opened anew or closed", async () => {
    const { sink, log } = bed();
    log.request(request);
    await log.reopen();
    assert.deepEqual([sink.reopened, sink.lines.length], [1, 1]);
    log.request(request);
    await log.close();
    assert.deepEqual([sink.closed, sink.lines.length], [true, 2]);
  });
});

/** Plug-ins and requests for tests of the HTTP face. */

import assert from "node:assert/strict";
import type { Hono } from "hono";
import { utf8 } from "../../../src/bytes.ts";
import { type MoqLbOptions, moqLb } from "../../../src/hono/moq-lb.ts";
import {
  decodeControlMessage,
  encodeControlMessage,
  type RequestError,
} from "../../../src/moqt/mod.ts";
import type { ActiveSnapshot } from "../../../src/snapshot/mod.ts";
import { activate, fields, meetings, now, request, snapshotOf } from "../routing/fixtures.ts";

/** The draft's meeting example: (example.com) by two fields over r1, r2 and r3. */
export function meetingSnapshot(): ActiveSnapshot {
  return activate(snapshotOf([meetings("example.com")]));
}

/** The plug-in over `active` that lets everybody in, unless `options` say otherwise. */
export function appOf(
  options: Partial<MoqLbOptions> = {},
  active: ActiveSnapshot | undefined = meetingSnapshot(),
): Hono {
  return moqLb({ holder: { active }, authorization: "allow-all", now: () => now, ...options });
}

/** A SUBSCRIBE that {@link meetingSnapshot} sends to r2. */
export const subscribe = encodeControlMessage(
  request("SUBSCRIBE", fields("example.com", "m1"), utf8("video")),
  22,
);

/** The REQUEST_ERROR in a response. */
export async function answerIn(response: Response): Promise<RequestError> {
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/octet-stream");
  const message = decodeControlMessage(new Uint8Array(await response.arrayBuffer()), 22);
  assert.ok(message.type === "REQUEST_ERROR");
  return message;
}

/** Posts `body` as a message. */
export async function post(
  app: Hono,
  body: Uint8Array,
  { draft = "moqt-22", headers = {} }: { draft?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return app.request(`/moqt/${draft}`, {
    method: "POST",
    body: body as Uint8Array<ArrayBuffer>,
    headers: { "content-type": "application/octet-stream", ...headers },
  });
}

/** Posts a message that comes in pieces. */
export async function postStream(
  app: Hono,
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/octet-stream", ...headers },
    body,
    duplex: "half",
  };
  return app.fetch(new Request("http://lb.example/moqt/moqt-22", init as RequestInit));
}

/** A body without end, in chunks of a kibibyte, and how many were taken. */
export function endless(): { body: ReadableStream<Uint8Array>; chunks(): number } {
  let pulled = 0;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(1024));
    },
  };
  return { body: new ReadableStream(source, { highWaterMark: 0 }), chunks: () => pulled };
}

/** A body that stops after some bytes until it is told to end; and whether its reader gave it up. */
export interface StalledBody {
  readonly body: ReadableStream<Uint8Array>;
  /** Sends the rest and ends it. */
  finish(): void;
  readonly cancelled: boolean;
}

/** `bytes` of which the last is kept back. */
export function stalled(bytes: Uint8Array): StalledBody {
  let cancelled = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
      controller.enqueue(bytes.slice(0, -1));
    },
    cancel() {
      cancelled = true;
    },
  });
  return {
    body,
    finish() {
      controller?.enqueue(bytes.slice(-1));
      controller?.close();
    },
    get cancelled() {
      return cancelled;
    },
  };
}

/** Asserts that `response` is a problem document, and gives it. */
export async function problemOf(
  response: Response,
  status: number,
  code: string,
): Promise<Record<string, unknown>> {
  const problem = await response.json();
  assert.equal(response.status, status, JSON.stringify(problem));
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(problem.code, code);
  assert.equal(problem.status, status);
  assert.equal(typeof problem.title, "string");
  assert.equal(typeof problem.detail, "string");
  return problem;
}

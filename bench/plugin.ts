/**
 * What deciding costs on top of HTTP: `POST /moqt/moqt-22` against a bare hono route that answers
 * with the body it got. Over a socket, which is what a deployment has, and in process, where there
 * is nothing else to pay for.
 */

import { connect, type Socket } from "node:net";
import { Hono } from "hono";
import { concatBytes, utf8 } from "../src/bytes.ts";
import { moqLb } from "../src/hono/moq-lb.ts";
import { encodeControlMessage } from "../src/moqt/mod.ts";
import { parseSnapshot } from "../src/snapshot/mod.ts";
import { median } from "./pair.ts";
import { informs, type Row } from "./row.ts";

const path = "/moqt/moqt-22";
const type = "application/octet-stream";

/** The bare route. A body of some type is echoed as that type. */
const echo = new Hono().post(path, async (c) =>
  c.body(await c.req.arrayBuffer(), 200, { "content-type": type }),
);

/** The draft's meeting example, open to everybody. */
const balancer = moqLb({ holder: { active: meetingExample() }, authorization: "allow-all" });

function meetingExample() {
  const rids = ["r1", "r2", "r3"];
  const snapshot = parseSnapshot({
    version: 1,
    relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/moq`, health: "healthy" })),
    routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids }],
  });
  return { snapshot, signedAt: Date.now(), maximumAge: 86_400_000, digest: "" };
}

/** A SUBSCRIBE for `example.2ecom-<meeting>--video`. */
function subscribe(meeting: number): Uint8Array<ArrayBuffer> {
  const message = encodeControlMessage(
    {
      type: "SUBSCRIBE",
      requestId: 0n,
      trackNamespace: [utf8("example.com"), utf8(`m${meeting}`)],
      trackName: utf8("video"),
      parameters: [],
    },
    22,
  );
  return message as Uint8Array<ArrayBuffer>;
}

let meetings = 1_000_000_000;
const knownMeeting = subscribe(meetings);

/** Where bodies come from; all are of one length, and so are their answers. */
const sources = {
  "known namespace": () => knownMeeting,
  "fresh namespaces": () => subscribe(++meetings),
};

type Source = keyof typeof sources;

/** Answers a batch of requests and tells how many microseconds one took. */
type Batch = (body: () => Uint8Array<ArrayBuffer>) => Promise<number>;

/** Batches of both in turn: the median of the ratios of neighbours, above 1 where `subject` is faster. */
async function compare(source: Source, base: Batch, subject: Batch, rounds: number) {
  const body = sources[source];
  const times: [base: number[], subject: number[]] = [[], []];
  const ratios: number[] = [];
  for (let round = -rounds / 4; round < rounds; round++) {
    const baseTime = await base(body);
    const subjectTime = await subject(body);
    // The first quarter is for the compilers.
    if (round < 0) continue;
    times[0].push(baseTime);
    times[1].push(subjectTime);
    ratios.push(baseTime / subjectTime);
  }
  const [baseMedian, subjectMedian] = times.map((all) => median(all).toFixed(1));
  return { ratio: median(ratios), detail: `${subjectMedian} µs, echo ${baseMedian} µs` };
}

/** `app.fetch()`, one request after another; few at a time, so that no heap of them is collected. */
function inProcess(app: Hono, size = 100): Batch {
  return async (body) => {
    const requests = Array.from({ length: size }, () => {
      const bytes = body();
      const headers = { "content-type": type, "content-length": String(bytes.length) };
      return new Request(`http://lb.example${path}`, { method: "POST", body: bytes, headers });
    });
    const start = performance.now();
    for (const request of requests) await (await app.fetch(request)).arrayBuffer();
    return ((performance.now() - start) * 1000) / size;
  };
}

/** HTTP/1.1 on the loopback interface, requests written in bursts to a connection that stays open. */
async function overHttp(app: Hono, burst = 16, bursts = 25): Promise<Batch> {
  const client = await PipeliningClient.to(serve(app.fetch));
  const length = await client.lengthOfResponse(httpRequest(knownMeeting));
  return async (body) => {
    const batch = Array.from({ length: bursts }, () =>
      concatBytes(...Array.from({ length: burst }, () => httpRequest(body()))),
    );
    const start = performance.now();
    for (const requests of batch) await client.exchange(requests, burst * length);
    return ((performance.now() - start) * 1000) / (burst * bursts);
  };
}

function httpRequest(body: Uint8Array): Uint8Array {
  const lines = [
    `POST ${path} HTTP/1.1`,
    "Host: lb.example",
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ];
  return concatBytes(utf8(`${lines.join("\r\n")}\r\n\r\n`), body);
}

type Fetch = (request: Request) => Response | Promise<Response>;

/** A server on a free port; it lives as long as the process. */
function serve(fetch: Fetch): number {
  const options = { hostname: "127.0.0.1", port: 0 };
  if ("Bun" in globalThis) return Bun.serve({ ...options, fetch }).port as number;
  const { Deno } = globalThis as unknown as { Deno: DenoServer };
  return Deno.serve({ ...options, onListen() {} }, fetch).addr.port;
}

interface DenoServer {
  serve(options: object, fetch: Fetch): { addr: { port: number } };
}

/** Costs next to nothing: it writes bytes and counts bytes, so that the server is what is measured. */
class PipeliningClient {
  readonly #socket: Socket;
  #onData: (chunk: Uint8Array) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Uint8Array) => this.#onData(chunk));
  }

  static async to(port: number): Promise<PipeliningClient> {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    return new PipeliningClient(socket);
  }

  /** Sends `requests` and waits until `length` bytes have come back. */
  exchange(requests: Uint8Array, length: number): Promise<void> {
    return new Promise((resolve) => {
      let received = 0;
      this.#onData = (chunk) => {
        received += chunk.length;
        if (received >= length) resolve();
      };
      this.#socket.write(requests);
    });
  }

  /** Bytes of the response to `request`, head and body. */
  lengthOfResponse(request: Uint8Array): Promise<number> {
    return new Promise((resolve) => {
      let text = "";
      this.#onData = (chunk) => {
        // One character a byte.
        text += Array.from(chunk, (byte) => String.fromCharCode(byte)).join("");
        const headEnd = text.indexOf("\r\n\r\n") + 4;
        const bodyLength = /^content-length: (\d+)/im.exec(text)?.[1];
        if (headEnd < 4 || bodyLength === undefined) return;
        const length = headEnd + Number(bodyLength);
        if (text.length >= length) resolve(length);
      };
      this.#socket.write(request);
    });
  }
}

const budget = 0.6;

/** Rows for `POST /moqt/moqt-22`, over HTTP and in process, of known and of fresh namespaces. */
export async function plugin(): Promise<Row[]> {
  const http = [await overHttp(echo), await overHttp(balancer)] as const;
  const known = await compare("known namespace", ...http, 60);
  const post = "POST /moqt/moqt-22 against an echo";
  return [
    {
      what: `${post}, over HTTP`,
      ...known,
      budget: `at least ${budget} x`,
      met: known.ratio >= budget,
    },
    {
      what: `${post}, over HTTP, each namespace new`,
      ...(await compare("fresh namespaces", ...http, 60)),
      ...informs,
    },
    {
      what: `${post}, in process without a socket`,
      ...(await compare("known namespace", inProcess(echo), inProcess(balancer), 400)),
      ...informs,
    },
    {
      what: `${post}, in process, each namespace new`,
      ...(await compare("fresh namespaces", inProcess(echo), inProcess(balancer), 400)),
      ...informs,
    },
  ];
}

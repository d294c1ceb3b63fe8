/** Cases B and C: streams that are reset, and connections that end without GOAWAY. */

import { codes } from "../../test/support/http2/frames.ts";
import type { RawClient } from "../../test/support/http2/raw-client.ts";
import { type BehaviourBed, codeName, type Outcome, type Sent, whenWhole, worded } from "./bed.ts";
import { type Happening, seen, together, told } from "./happening.ts";

async function one(bed: BehaviourBed): Promise<RawClient> {
  return (await bed.clients(1))[0] as RawClient;
}

/** POST, then RST_STREAM by the origin each time it comes. */
function resetWith(
  of: string,
  code: number,
  wanted: string,
  holds: (outcome: Outcome, times: number) => boolean,
): Happening {
  return {
    of,
    event: `RST_STREAM ${codeName(code)} on a POST, each time it comes`,
    // A gateway of HTTP may answer 502 where the draft wants the code; that it is an error, both want.
    by: of === "B04" ? "HTTP" : "draft",
    wanted,
    async play(bed) {
      const client = await one(bed);
      bed.script = whenWhole((request) => request.reset(code));
      const sent = await bed.send(client, "/a", { method: "POST", content: "twelve bytes" });
      const outcome = await bed.outcome(sent);
      return seen(told(bed, sent, outcome), holds(outcome, bed.occurrences("/a")), [client]);
    },
  };
}

/** The end of the origin's connection while a whole request waits for its answer. */
function lossOf(
  of: string,
  method: "GET" | "POST",
  how: "fin" | "rst",
  wanted: string,
  holds: (outcome: Outcome, times: number) => boolean,
): Happening {
  return {
    of,
    event: `${how === "fin" ? "FIN" : "TCP reset"} after a whole ${method}, each time it comes`,
    by: "HTTP",
    wanted,
    async play(bed) {
      const client = await one(bed);
      bed.script = whenWhole((request) => request.connection.kill(how));
      const content = method === "POST" ? { method, content: "twelve bytes" } : {};
      const sent = await bed.send(client, "/a", content);
      const outcome = await bed.outcome(sent);
      const reason = outcome.head?.get("proxy-status");
      const saw = told(bed, sent, outcome) + (reason === undefined ? "" : ", Proxy-Status");
      return seen(saw, holds(outcome, bed.occurrences("/a")), [client]);
    },
  };
}

const isFailure = ({ kind, status, code }: Outcome) =>
  (kind === "response" && (status ?? 0) >= 500) ||
  (kind === "reset" && code !== codes.REFUSED_STREAM && code !== codes.NO_ERROR);

export const resetHappenings: readonly Happening[] = [
  resetWith(
    "B01",
    codes.REFUSED_STREAM,
    "sent at most twice; REFUSED_STREAM",
    ({ code }, times) => code === codes.REFUSED_STREAM && times <= 2,
  ),
  resetWith(
    "B03",
    codes.CANCEL,
    "sent once; CANCEL",
    ({ code }, times) => code === codes.CANCEL && times === 1,
  ),
  resetWith(
    "B04",
    codes.NO_ERROR,
    "sent once; an error that is not REFUSED_STREAM",
    (outcome, times) => isFailure(outcome) && times === 1,
  ),
  resetWith(
    "B04",
    0x99,
    "sent once; an error that is not REFUSED_STREAM",
    (outcome, times) => isFailure(outcome) && times === 1,
  ),
  resetWith(
    "B05",
    codes.ENHANCE_YOUR_CALM,
    "sent once; ENHANCE_YOUR_CALM",
    ({ code }, times) => code === codes.ENHANCE_YOUR_CALM && times === 1,
  ),
  {
    of: "B07",
    event: "half a response with Content-Length, then RST_STREAM CANCEL",
    by: "draft",
    wanted: "what came, then CANCEL",
    async play(bed) {
      const client = await one(bed);
      const sent = await bed.send(client, "/a");
      await half(sent, [["content-length", "10"]]);
      sent.request.reset(codes.CANCEL);
      const outcome = await bed.outcome(sent);
      return seen(told(bed, sent, outcome), outcome.code === codes.CANCEL, [client]);
    },
  },
  {
    of: "B07",
    event: "half a response without Content-Length, then FIN",
    by: "HTTP",
    wanted: "what came, then a reset; never a clean end",
    async play(bed) {
      const client = await one(bed);
      const sent = await bed.send(client, "/a");
      await half(sent, []);
      sent.request.connection.kill();
      const outcome = await bed.outcome(sent);
      const isClean = outcome.kind === "response";
      const saw = `${told(bed, sent, outcome)}${isClean ? ", a clean end after 5 octets" : ""}`;
      return seen(saw, outcome.kind === "cut short", [client]);
    },
  },
  {
    of: "B08",
    event: "a client cancels its GET",
    by: "draft",
    wanted: "CANCEL at the origin at once",
    async play(bed) {
      const client = await one(bed);
      const sent = await bed.send(client, "/a");
      const from = performance.now();
      client.rst(sent.id, codes.CANCEL);
      const { connection, id } = sent.request;
      const code = await connection
        .until("RST_STREAM", () => connection.stream(id).reset, 2000)
        .catch(() => undefined);
      const took = performance.now() - from;
      const saw =
        code === undefined
          ? "no reset in 2 s"
          : `reset ${codeName(code)}${took > 500 ? " late" : ""}`;
      return seen(`origin: ${saw}`, code === codes.CANCEL && took <= 500, [client]);
    },
  },
  {
    of: "B09",
    event: "RST_STREAM INTERNAL_ERROR on A's, while B's is in flight",
    by: "draft",
    wanted: "A: INTERNAL_ERROR; B: 200",
    async play(bed) {
      const [a, b] = (await bed.clients(2)) as [RawClient, RawClient];
      const [ofA, ofB] = [await bed.post(a, "/a"), await bed.post(b, "/b")];
      ofA.request.reset(codes.INTERNAL_ERROR);
      const first = await bed.outcome(ofA);
      ofB.request.respond(200, [], "whole");
      const second = await bed.outcome(ofB);
      const saw = together([
        ["A", told(bed, ofA, first)],
        ["B", told(bed, ofB, second)],
      ]);
      return seen(saw, first.code === codes.INTERNAL_ERROR && second.status === 200, [a, b]);
    },
  },
  {
    of: "B13",
    event:
      "GROUP_CONTROL BLOCK of B for 60 s, CANCEL and REFUSED_STREAM on its streams; B and A ask again",
    by: "draft",
    wanted: "CANCEL, REFUSED_STREAM, not sent again; then B: 429 with Retry-After, A: 200",
    async play(bed) {
      const [a, b] = (await bed.clients(2)) as [RawClient, RawClient];
      const sent = [await bed.post(b, "/cancelled"), await bed.post(b, "/refused")] as const;
      const group = sent[0].request.group;
      if (group !== undefined) sent[0].request.connection.groupControl("BLOCK", group, 60);
      sent[0].request.reset(codes.CANCEL);
      sent[1].request.reset(codes.REFUSED_STREAM);
      const first = await bed.outcome(sent[0]);
      const second = await bed.outcome(sent[1]);
      bed.script = (request) => request.respond(200, [], "whole");
      const next = async (client: RawClient, path: string) =>
        await bed.outcome({ client, id: client.request({ authority: "localhost", path }) });
      const third = await next(b, "/b");
      const fourth = await next(a, "/a");
      const saw = together([
        ["first", told(bed, sent[0], first)],
        ["second", told(bed, sent[1], second)],
        ["B then", worded(third)],
        ["A then", worded(fourth)],
      ]);
      const holds =
        first.code === codes.CANCEL &&
        second.code === codes.REFUSED_STREAM &&
        bed.occurrences("/refused") === 1 &&
        third.status === 429 &&
        third.head?.get("retry-after") !== undefined &&
        fourth.status === 200;
      return seen(group === undefined ? `no group; ${saw}` : saw, holds, [a, b]);
    },
  },
  lossOf(
    "C01, C05",
    "POST",
    "fin",
    "sent once; 502 with Proxy-Status, or INTERNAL_ERROR",
    (outcome, times) => isFailure(outcome) && times === 1,
  ),
  lossOf(
    "C01, C05",
    "POST",
    "rst",
    "sent once; 502 with Proxy-Status, or INTERNAL_ERROR",
    (outcome, times) => isFailure(outcome) && times === 1,
  ),
  lossOf(
    "C03, C07",
    "GET",
    "fin",
    "sent at most twice; 502 with Proxy-Status, or INTERNAL_ERROR",
    (outcome, times) => isFailure(outcome) && times <= 2,
  ),
  {
    of: "C02",
    event: "the idle connection to the origin ends; then a POST",
    by: "HTTP",
    wanted: "200, sent once",
    async play(bed) {
      const client = await one(bed);
      for (const connection of bed.origin.connections) connection.kill();
      await Bun.sleep(100);
      bed.script = (request) => request.respond(200, [], "whole");
      const sent = await bed.send(client, "/a", { method: "POST", content: "twelve bytes" });
      const outcome = await bed.outcome(sent);
      const holds = outcome.status === 200 && bed.occurrences("/a") === 1;
      return seen(told(bed, sent, outcome), holds, [client]);
    },
  },
];

/** Five octets of a response, received by the client. */
async function half(sent: Sent, fields: readonly (readonly [string, string])[]): Promise<void> {
  const { connection, id } = sent.request;
  connection.headers(id, [[":status", "200"], ...fields]);
  await connection.data(id, new TextEncoder().encode("half "));
  await sent.client
    .until("half of the response", () =>
      sent.client.content(sent.id).length === 5 ? true : undefined,
    )
    .catch(() => undefined);
}

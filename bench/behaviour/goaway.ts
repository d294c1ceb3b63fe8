/** Cases A: GOAWAY on a connection that clients share. */

import { codes } from "../../test/support/http2/frames.ts";
import { type BehaviourBed, goawayBehind, type Sent, whenWhole } from "./bed.ts";
import { type Happening, isSafelyUnprocessed, seen, together, told } from "./happening.ts";

const lastPossible = 0x7fff_ffff;

/** Whole POSTs of A, B and C, on one connection where the proxy shares it. */
async function three(bed: BehaviourBed): Promise<readonly [Sent, Sent, Sent]> {
  const [a, b, c] = await bed.clients(3);
  if (a === undefined || b === undefined || c === undefined)
    throw new Error("three were asked for");
  return [await bed.post(a, "/a"), await bed.post(b, "/b"), await bed.post(c, "/c")];
}

/** How each ended, in words and whether `holds`. */
async function ends(
  bed: BehaviourBed,
  sent: readonly Sent[],
  holds: (index: number, outcome: Awaited<ReturnType<BehaviourBed["outcome"]>>) => boolean,
) {
  const outcomes = await Promise.all(sent.map((one) => bed.outcome(one)));
  const saw = together(
    sent.map((one, i) => [one.path.slice(1).toUpperCase(), told(bed, one, outcomes[i] as never)]),
  );
  const clients = [...new Set(sent.map(({ client }) => client))];
  return seen(
    saw,
    outcomes.every((outcome, index) => holds(index, outcome)),
    clients,
  );
}

export const goawayHappenings: readonly Happening[] = [
  {
    of: "A01",
    event: "POSTs of A, B, C in flight; GOAWAY behind A's, then 200 for A",
    by: "draft",
    wanted: "A: 200; B, C: sent again, or REFUSED_STREAM",
    async play(bed) {
      const sent = await three(bed);
      goawayBehind(sent, [sent[0]]);
      sent[0].request.respond(200, [], "whole");
      return ends(bed, sent, (index, outcome) =>
        index === 0 ? outcome.status === 200 : isSafelyUnprocessed(outcome),
      );
    },
  },
  {
    of: "A03",
    event: "six GETs in flight; GOAWAY before the first of them",
    by: "HTTP",
    wanted: "sent again, or REFUSED_STREAM",
    async play(bed) {
      const [a, b] = await bed.clients(2);
      const sent: Sent[] = [];
      for (const name of ["a", "b", "c", "d", "e", "f"]) {
        const client = sent.length % 2 === 0 ? a : b;
        if (client !== undefined) sent.push(await bed.send(client, `/${name}`));
      }
      goawayBehind(sent, []);
      return ends(bed, sent, (_, outcome) => isSafelyUnprocessed(outcome));
    },
  },
  {
    of: "A04",
    event: "GOAWAY 2^31-1, then GOAWAY behind A's; POSTs of A, B, C in flight; 200 for A",
    by: "draft",
    wanted: "A: 200; B, C: sent again, or REFUSED_STREAM",
    async play(bed) {
      const sent = await three(bed);
      const connections = new Set(sent.map(({ request }) => request.connection));
      for (const connection of connections) connection.sendGoaway(lastPossible);
      await Bun.sleep(100);
      goawayBehind(sent, [sent[0]]);
      sent[0].request.respond(200, [], "whole");
      return ends(bed, sent, (index, outcome) =>
        index === 0 ? outcome.status === 200 : isSafelyUnprocessed(outcome),
      );
    },
  },
  {
    of: "A05",
    event: "GOAWAY behind all three; 200 for each 200 ms later",
    by: "HTTP",
    wanted: "200 for each, by the same connection",
    async play(bed) {
      const sent = await three(bed);
      goawayBehind(sent, sent);
      await Bun.sleep(200);
      for (const { request } of sent) request.respond(200, [], "whole");
      return ends(
        bed,
        sent,
        (index, outcome) =>
          outcome.status === 200 && bed.occurrences((sent[index] as Sent).path) === 1,
      );
    },
  },
  {
    of: "A07",
    event: "GOAWAY behind A's POST, then the end of the connection without a response",
    by: "HTTP",
    wanted: "sent once; not REFUSED_STREAM: a 5xx or another reset",
    async play(bed) {
      const [a] = await bed.clients(1);
      const sent = await bed.post(a as NonNullable<typeof a>, "/a");
      goawayBehind([sent], [sent]);
      sent.request.connection.kill();
      return ends(
        bed,
        [sent],
        (_, { kind, status, code }) =>
          bed.occurrences("/a") === 1 &&
          (kind === "response"
            ? (status ?? 0) >= 500
            : kind === "reset" && code !== codes.REFUSED_STREAM),
      );
    },
  },
  {
    of: "A09",
    event: "POST of 2 MiB on its way, GOAWAY before it",
    by: "HTTP",
    wanted: "REFUSED_STREAM, or sent again whole",
    async play(bed) {
      const [a] = await bed.clients(1);
      const content = new Uint8Array(2 ** 21);
      const sent = await bed.send(a as NonNullable<typeof a>, "/a", {
        method: "POST",
        content,
        open: true,
      });
      await Bun.sleep(200);
      bed.script = whenWhole((request, { length }) =>
        request.respond(length === content.length ? 200 : 400),
      );
      goawayBehind([sent], []);
      await sent.client.data(sent.id, new Uint8Array(), true).catch(() => {});
      return ends(bed, [sent], (_, outcome) => isSafelyUnprocessed(outcome));
    },
  },
  {
    of: "A10",
    event: "GOAWAY while requests come, twenty times",
    by: "HTTP",
    wanted: "200 for each, or REFUSED_STREAM",
    async play(bed) {
      const [a, b] = await bed.clients(2);
      bed.script = (request) => request.respond(200, [], "whole");
      const outcomes: string[] = [];
      let holds = true;
      for (let i = 0; i < 20; i++) {
        for (const client of [a, b]) {
          if (client === undefined) continue;
          const path = `/race-${i}`;
          const id = client.request({ authority: "localhost", path });
          const last = bed.origin.connections.findLast(
            ({ closed, end }) => !closed && end === undefined,
          );
          if (client === a) last?.sendGoaway(Math.max(0, ...last.requests.map((one) => one.id)));
          const outcome = await bed.outcome({ client, id });
          const what = told(bed, { path: "" }, outcome);
          if (!outcomes.includes(what)) outcomes.push(what);
          holds &&= isSafelyUnprocessed(outcome);
        }
      }
      return seen(
        outcomes.join(", "),
        holds,
        [a, b].filter((one) => one !== undefined),
      );
    },
  },
  {
    of: "A12",
    event: "GOAWAY, then GOAWAY with a higher last stream; A's POST between them",
    by: "HTTP",
    wanted: "never a clean success of a stream that the first had left out",
    async play(bed) {
      const [a] = await bed.clients(1);
      const sent = await bed.post(a as NonNullable<typeof a>, "/a");
      const { connection, id } = sent.request;
      goawayBehind([sent], []);
      await Bun.sleep(50);
      connection.sendGoaway(id + 4);
      return ends(bed, [sent], (_, outcome) => isSafelyUnprocessed(outcome));
    },
  },
  {
    of: "A14, A19",
    event: "half a response with Content-Length, then GOAWAY before its stream and the end",
    by: "HTTP",
    wanted: "sent once; what came, then a reset",
    async play(bed) {
      const [a] = await bed.clients(1);
      const sent = await bed.send(a as NonNullable<typeof a>, "/a");
      const { connection, id } = sent.request;
      connection.headers(id, [
        [":status", "200"],
        ["content-length", "10"],
      ]);
      await connection.data(id, new TextEncoder().encode("half "));
      await sent.client.head(sent.id).catch(() => undefined);
      goawayBehind([sent], []);
      connection.kill();
      return ends(
        bed,
        [sent],
        (_, { kind, code }) =>
          bed.occurrences("/a") === 1 &&
          (kind === "cut short" || kind === "reset") &&
          // Nothing was processed, that says (RFC 9113 §8.7); a response has begun.
          code !== 0x7,
      );
    },
  },
  {
    of: "A15",
    event: "GOAWAY on stream 1 while A's GET is in flight",
    by: "HTTP",
    wanted: "the origin's connection ends with PROTOCOL_ERROR; A is answered",
    async play(bed) {
      const [a] = await bed.clients(1);
      const sent = await bed.send(a as NonNullable<typeof a>, "/a");
      const { connection } = sent.request;
      // Length 8, type 7, no flags, stream 1; last stream 0, NO_ERROR.
      connection.write(Uint8Array.of(0, 0, 8, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
      const outcome = await bed.outcome(sent);
      const answer = connection.goaways[0]?.code;
      const origin =
        answer === undefined ? "no GOAWAY to the origin" : `GOAWAY ${answer} to the origin`;
      return seen(
        `${told(bed, sent, outcome)}; ${origin}`,
        outcome.kind !== "nothing" && answer === codes.PROTOCOL_ERROR,
        [sent.client],
      );
    },
  },
  {
    of: "A17",
    event: "GOAWAY on an idle connection, then a request",
    by: "HTTP",
    wanted: "200, by another connection; the old one ends",
    async play(bed) {
      const [a] = await bed.clients(1);
      bed.script = (request) => request.respond(200, [], "whole");
      const old = bed.origin.requestsFor("/first")[0]?.connection;
      old?.sendGoaway(old.requests.at(-1)?.id ?? 0);
      await Bun.sleep(100);
      const sent = await bed.send(a as NonNullable<typeof a>, "/a");
      const outcome = await bed.outcome(sent);
      await old?.over(1000).catch(() => {});
      const ended = old?.end !== undefined || old?.closed === true;
      const moved = sent.request.connection !== old;
      return seen(
        `${told(bed, sent, outcome)}; ${moved ? "another" : "the same"} connection; the old one ${ended ? "ended" : "stays"}`,
        outcome.status === 200 && moved && ended,
        [sent.client],
      );
    },
  },
];

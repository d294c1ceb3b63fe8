/** Cases F and G: the Client-Group field, fields of one hop, and how fields are compressed. */

import { codes } from "../../test/support/http2/frames.ts";
import type { FieldToSend } from "../../test/support/http2/hpack.ts";
import type { RawClient } from "../../test/support/http2/raw-client.ts";
import type { OriginRequest } from "../../test/support/http2/raw-origin.ts";
import { type BehaviourBed, whenWhole, worded } from "./bed.ts";
import { type Happening, seen } from "./happening.ts";

const secret = "a secret of more than twenty octets";

async function one(bed: BehaviourBed): Promise<RawClient> {
  return (await bed.clients(1))[0] as RawClient;
}

/** Sends a GET with these fields; its request at the origin, or what the client was answered. */
async function forwarded(
  bed: BehaviourBed,
  client: RawClient,
  path: string,
  fields: readonly FieldToSend[],
): Promise<OriginRequest | string> {
  bed.script = (request) => request.respond(200, [], "whole");
  const id = client.request({ authority: "localhost", path, fields });
  const outcome = await bed.outcome({ client, id });
  return bed.origin.requestsFor(path)[0] ?? worded(outcome);
}

const shown = (values: readonly string[]) => (values.length === 0 ? "none" : values.join(" | "));

/** Client-Group as a client may send it, of which nothing is to arrive. */
function forged(event: string, values: readonly string[]): Happening {
  return {
    of: "F01",
    event,
    by: "draft",
    wanted: "none of it at the origin",
    async play(bed) {
      const client = await one(bed);
      const fields = values.map((value) => ["client-group", value] as const);
      const request = await forwarded(bed, client, "/a", fields);
      if (typeof request === "string") return seen(request, false, [client]);
      const own = request.head.all("client-group");
      // A random number of 32 bits is not one of theirs by chance.
      const theirs = values.flatMap((value) => value.split(", "));
      const arrived = own.flatMap((value) => value.split(", "));
      const holds = own.length <= 1 && arrived.every((value) => !theirs.includes(value));
      return seen(
        holds ? (own.length === 0 ? "removed" : "its own instead") : `forwarded: ${shown(own)}`,
        holds,
        [client],
      );
    },
  };
}

/** Names that are no Client-Group and no field at all, or another field. */
function named(name: string, wanted: string, isValid: boolean): Happening {
  return {
    of: "F04",
    event: `field name ${JSON.stringify(name)}`,
    wanted,
    by: "HTTP",
    async play(bed) {
      const client = await one(bed);
      const request = await forwarded(bed, client, "/a", [[name, "7"]]);
      const arrived = typeof request !== "string" && request.head.all(name).length > 0;
      const saw =
        typeof request === "string"
          ? request
          : arrived
            ? "forwarded as it is"
            : "removed, and forwarded";
      return seen(saw, isValid ? arrived : typeof request === "string" && request !== "200", []);
    },
  };
}

const hopByHop: readonly FieldToSend[] = [
  ["proxy-connection", "keep-alive"],
  ["keep-alive", "timeout=5"],
  ["upgrade", "websocket"],
  ["transfer-encoding", "chunked"],
];

/** A field that HTTP/2 forbids in a message (RFC 9113 §8.2.2). */
function connectionSpecific(): Happening[] {
  return hopByHop.map((field) => ({
    of: "G02",
    event: `${field[0]} in a request in HTTP/2`,
    by: "HTTP",
    wanted: "not at the origin",
    async play(bed) {
      const client = await one(bed);
      const request = await forwarded(bed, client, "/a", [field]);
      if (typeof request === "string") return seen(`rejected: ${request}`, true, []);
      const arrived = request.head.all(field[0]).length > 0;
      return seen(arrived ? "forwarded" : "removed", !arrived, [client]);
    },
  }));
}

const sensitive: readonly FieldToSend[] = [
  ["authorization", `Bearer ${secret}`],
  ["cookie", `session=${secret}`],
  ["x-secret", secret, "never-indexed"],
];

export const fieldHappenings: readonly Happening[] = [
  forged("Client-Group: 7 from a client", ["7"]),
  forged("Client-Group twice", ["7", "8"]),
  forged("Client-Group: 7, 8", ["7, 8"]),
  {
    of: "F01",
    event: "Client-Group in the trailers of a request",
    by: "draft",
    wanted: "none of it at the origin",
    async play(bed) {
      const client = await one(bed);
      bed.script = whenWhole((request) => request.respond(200, [], "whole"));
      const sent = await bed.send(client, "/a", {
        method: "POST",
        content: "x",
        trailers: [
          ["client-group", "7"],
          ["x-sum", "1"],
        ],
      });
      const outcome = await bed.outcome(sent);
      const trailers = sent.request.stream.sections[1];
      const arrived = trailers?.all("client-group").length ?? 0;
      const sum = trailers?.get("x-sum") === undefined ? ", and the other trailer too" : "";
      const saw = arrived > 0 ? "forwarded" : `removed${sum}`;
      return seen(outcome.status === 200 ? saw : worded(outcome), arrived === 0, [client]);
    },
  },
  {
    of: "F03",
    event: "Client-Group in a response and in its trailers",
    by: "draft",
    wanted: "none of it at the client",
    async play(bed) {
      const client = await one(bed);
      const sent = await bed.send(client, "/a");
      const { connection, id } = sent.request;
      connection.headers(id, [
        [":status", "200"],
        ["client-group", "7"],
      ]);
      await connection.data(id, new TextEncoder().encode("whole"));
      const trailers: FieldToSend[] = [
        ["client-group", "7"],
        ["x-sum", "1"],
      ];
      connection.headers(id, trailers, { endStream: true });
      const outcome = await bed.outcome(sent);
      const places = [
        outcome.head?.get("client-group") === undefined ? "" : "header",
        outcome.trailers?.get("client-group") === undefined ? "" : "trailer",
      ].filter((place) => place !== "");
      const saw =
        places.length === 0 ? `${worded(outcome)}, removed` : `forwarded: ${places.join(", ")}`;
      return seen(saw, outcome.status === 200 && places.length === 0, [client]);
    },
  },
  named("client-group\t", "rejected", false),
  named("client-group ", "rejected", false),
  named("client_group", "forwarded as any other", true),
  ...connectionSpecific(),
  {
    of: "G02",
    event: "Connection: x-hop, keep-alive with x-hop and Keep-Alive, over HTTP/1.1",
    by: "HTTP",
    wanted: "none of them at the origin",
    async play(bed) {
      bed.script = (request) => request.respond(200, [], "whole");
      const client = await bed.http1Client();
      const { status } = await client.fetch([
        "GET /a HTTP/1.1",
        "Host: localhost",
        "Connection: x-hop, keep-alive",
        "X-Hop: 1",
        "Keep-Alive: timeout=5",
      ]);
      const request = bed.origin.requestsFor("/a")[0];
      const names = ["connection", "x-hop", "keep-alive"];
      const arrived = names.filter((name) => (request?.head.all(name).length ?? 0) > 0);
      const saw = arrived.length === 0 ? "removed" : `forwarded: ${arrived.join(", ")}`;
      return seen(
        request === undefined ? `${status}` : saw,
        status === 200 && arrived.length === 0,
        [],
      );
    },
  },
  {
    of: "G02",
    event: "Proxy-Authorization from a client",
    by: "draft",
    wanted: "not at the origin",
    async play(bed) {
      const client = await one(bed);
      const field = ["proxy-authorization", "Basic Zm9vOmJhcg=="] as const;
      const request = await forwarded(bed, client, "/a", [field]);
      if (typeof request === "string") return seen(request, false, [client]);
      const arrived = request.head.all(field[0]).length > 0;
      return seen(arrived ? "forwarded" : "removed", !arrived, [client]);
    },
  },
  {
    of: "G02",
    event: "proxy-connection and keep-alive in a response in HTTP/2",
    by: "HTTP",
    wanted: "not at the client",
    async play(bed) {
      const client = await one(bed);
      bed.script = (request) =>
        request.respond(
          200,
          [
            ["proxy-connection", "keep-alive"],
            ["keep-alive", "timeout=5"],
          ],
          "whole",
        );
      const sent = await bed.send(client, "/a");
      const outcome = await bed.outcome(sent);
      const names = ["proxy-connection", "keep-alive"];
      const arrived = names.filter((name) => outcome.head?.get(name) !== undefined);
      const saw =
        arrived.length === 0 ? `${worded(outcome)}, removed` : `forwarded: ${arrived.join(", ")}`;
      return seen(saw, arrived.length === 0 && outcome.kind !== "nothing", [client]);
    },
  },
  ...sensitive.map(
    (field): Happening => ({
      of: "G03, G04",
      event: `${field[0]}${field[2] === "never-indexed" ? ", never-indexed" : ""} from a client`,
      // RFC 7541 §6.2.3 asks it of what came so; of credentials only the draft does.
      by: field[2] === "never-indexed" ? "HTTP" : "draft",
      wanted: "never-indexed at the origin",
      async play(bed) {
        const client = await one(bed);
        const request = await forwarded(bed, client, "/a", [field]);
        if (typeof request === "string") return seen(request, false, [client]);
        const as = request.head.representation(field[0]) ?? "absent";
        return seen(as, as === "never-indexed", [client]);
      },
    }),
  ),
  {
    of: "G07, G09",
    event: "twenty header sections of 8 KiB and content at once, of two clients",
    by: "HTTP",
    wanted: "every header block whole, nothing between its frames",
    async play(bed) {
      const clients = (await bed.clients(2)) as [RawClient, RawClient];
      bed.script = whenWhole((request) => request.respond(200, [], "whole"));
      const ids = Array.from({ length: 10 }, (_, i) =>
        clients.map((client) => ({
          client,
          id: client.request({
            authority: "localhost",
            method: "POST",
            path: `/block-${i}`,
            fields: [["x-large", "a".repeat(8192)]],
            content: new Uint8Array(10_000),
          }),
        })),
      ).flat();
      const outcomes = await Promise.all(ids.map((one) => bed.outcome(one)));
      const fault = bed.origin.connections.find(
        (connection) => connection.fault !== undefined,
      )?.fault;
      const kinds = [...new Set(outcomes.map(worded))].join(", ");
      const refused = outcomes.every(({ kind, code, status }) =>
        kind === "reset" ? code !== codes.COMPRESSION_ERROR : (status ?? 0) >= 200,
      );
      return seen(
        fault === undefined ? `in order: ${kinds}` : fault.message,
        fault === undefined && refused,
        clients,
      );
    },
  },
];

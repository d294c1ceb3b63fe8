/**
 * An origin of ours against a scripted intermediary: rows of the origin in cases A, D and E, areas
 * SET, FRAME2, STOP, ERR and CGOAWAY, and the draft's examples from the origin's side.
 */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../src/bytes.ts";
import { type ClientGroup, ClientGroupError } from "../../src/client-group/mod.ts";
import { type OriginServer, serve } from "../../src/http2/serve.ts";
import {
  actions,
  codes,
  flags,
  frame,
  frameTypes,
  groupControlFrame,
  type Pairs,
  settings,
} from "../support/http2/frames.ts";
import { RawClient, type RequestToSend } from "../support/http2/raw-client.ts";
import { Watch } from "../support/http2/watch.ts";

/** A request that the application has got and not answered yet. */
interface Delivered {
  readonly path: string;
  readonly group: ClientGroup | undefined;
  readonly signal: AbortSignal;
  answer(response: Response): void;
}

const sharing: Pairs = [[settings.SHARED_CONNECTION, 1]];

class OriginStage {
  readonly server: OriginServer;
  readonly delivered: Delivered[];
  readonly #watch: Watch;
  readonly #clients: RawClient[] = [];

  private constructor(server: OriginServer, delivered: Delivered[], watch: Watch) {
    this.server = server;
    this.delivered = delivered;
    this.#watch = watch;
  }

  static async open(policy: number | "off"): Promise<OriginStage> {
    const delivered: Delivered[] = [];
    const watch = new Watch();
    const server = await serve({
      cleartext: true,
      policy,
      fetch: (request, { clientGroup }) =>
        new Promise((resolve) => {
          delivered.push({
            path: new URL(request.url).pathname,
            group: clientGroup,
            signal: request.signal,
            answer: resolve,
          });
          watch.changed();
        }),
    });
    return new OriginStage(server, delivered, watch);
  }

  async intermediary(pairs: Pairs = sharing): Promise<RawClient> {
    const client = await RawClient.connect({ port: this.server.port, settings: pairs });
    this.#clients.push(client);
    return client;
  }

  /** Sends a request on the stream given, and waits until the application has it. */
  async deliver(
    client: RawClient,
    id: number,
    group?: string,
    request: RequestToSend = {},
  ): Promise<Delivered> {
    client.nextStream = id;
    const before = this.delivered.length;
    client.request({
      path: `/${id}`,
      ...(group !== undefined && { fields: [["client-group", group]] }),
      ...request,
    });
    return this.#watch.until(`request ${id}`, () => this.delivered[before], {
      state: () => `\n${client.transcript()}`,
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.server.close();
  }
}

const scenario = (
  name: string,
  policy: number | "off",
  body: (stage: OriginStage) => Promise<void>,
) =>
  test(name, async () => {
    const stage = await OriginStage.open(policy);
    try {
      await body(stage);
    } finally {
      await stage.close();
    }
  });

export function originScenarios(): void {
  describe("an origin on a shared connection", () => {
    negotiation();
    groups();
    control();
    examples();
    endings();
  });
}

function negotiation(): void {
  scenario(
    "says its policy in the first SETTINGS and nothing that clients say [CG-SET-5, CG-SET-9, CG-SET-16]",
    3,
    async (stage) => {
      const client = await stage.intermediary();
      const plain = await stage.intermediary([]);
      for (const peer of [client, plain]) {
        const [first] = await peer.until("SETTINGS", () =>
          peer.settings.length > 0 ? peer.settings : undefined,
        );
        const said = new Map(first);
        assert.equal(said.get(settings.SHARED_CONNECTION_POLICY), 3);
        assert.equal(said.has(settings.SHARED_CONNECTION), false);
      }
    },
  );

  scenario(
    "ends a connection whose SHARED_CONNECTION is neither 0 nor 1 [D06, CG-SET-3]",
    0,
    async (stage) => {
      const client = await stage.intermediary([[settings.SHARED_CONNECTION, 2]]);
      assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
      await client.over();
    },
  );

  scenario(
    "ends a connection whose SHARED_CONNECTION changes, not one that repeats it [D05, CG-PROC-9, CG-PROC-10]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      client.sendSettings(sharing);
      client.sendSettings([]);
      await client.ping();
      assert.deepEqual(client.goaways, []);
      client.sendSettings([[settings.SHARED_CONNECTION, 0]]);
      assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
      const late = await stage.intermediary([]);
      await late.ping();
      late.sendSettings(sharing);
      assert.equal((await late.goaway()).code, codes.PROTOCOL_ERROR);
    },
  );

  scenario(
    "ignores a policy from a client, and settings and frames that it does not know [D06, D08, D09, CG-SET-14]",
    0,
    async (stage) => {
      const client = await stage.intermediary([
        ...sharing,
        [settings.SHARED_CONNECTION_POLICY, 1],
        [0xf00d, 1],
      ]);
      client.write(frame(0xbb, 0xff, 0, new Uint8Array(16_000)));
      const one = await stage.deliver(client, 1, "1");
      const two = await stage.deliver(client, 3, "2");
      for (const { answer } of [one, two]) answer(new Response("fine"));
      assert.equal((await client.response(1)).content, "fine");
      assert.equal((await client.response(3)).content, "fine");
    },
  );
}

function groups(): void {
  scenario(
    "takes the group from an Integer of the field, whatever its parameters, and serves anything else ungrouped [CG-FIELD-1, CG-FIELD-3, CG-A6, CG-S12, CG-S16]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const rows: readonly (readonly [string | undefined, number | undefined])[] = [
        ["907", 907],
        ["907;x=1", 907],
        ["0", 0],
        ["4294967295", 4_294_967_295],
        ["4294967296", undefined],
        ["-1", undefined],
        ["1.0", undefined],
        ['"1"', undefined],
        ["1, 2", undefined],
        [undefined, undefined],
      ];
      for (const [index, [value, id]] of rows.entries()) {
        const { group, answer } = await stage.deliver(client, 2 * index + 1, value);
        assert.equal(group?.id, id, String(value));
        answer(new Response());
        const { head, status } = await client.response(2 * index + 1);
        assert.equal(status, 200);
        assert.deepEqual(head.all("client-group"), []);
      }
    },
  );

  scenario(
    "does not know groups on a connection that was not offered to be shared [CG-SET-2, CG-FRAME2-2, E15]",
    0,
    async (stage) => {
      for (const pairs of [[], [[settings.SHARED_CONNECTION, 0] as const]]) {
        const client = await stage.intermediary(pairs);
        const { group, answer } = await stage.deliver(client, 1, "907");
        assert.equal(group, undefined);
        answer(new Response());
        assert.equal((await client.response(1)).status, 200);
        assert.deepEqual(client.received("GROUP_CONTROL"), []);
      }
    },
  );

  scenario(
    "keeps to its policy by refusing streams of a group too many [CG-A7, CG-PROC-8]",
    2,
    async (stage) => {
      const client = await stage.intermediary();
      const one = await stage.deliver(client, 1, "1");
      await stage.deliver(client, 3, "2");
      client.request({ path: "/5", fields: [["client-group", "3"]] });
      assert.equal(await client.reset(5), codes.REFUSED_STREAM);
      one.answer(new Response());
      await client.response(1);
      await stage.deliver(client, 7, "3");
      assert.deepEqual(client.goaways, []);
      assert.equal(stage.delivered.length, 3);
    },
  );
}

function control(): void {
  scenario(
    "ends a connection on which a client sends GROUP_CONTROL [E03, CG-ERR-1, A15]",
    0,
    async (stage) => {
      for (const streamId of [0, 1]) {
        const client = await stage.intermediary();
        client.write(groupControlFrame(907, actions.BLOCK, 60, 0, streamId));
        assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
        await client.over();
      }
    },
  );

  scenario(
    "sends frames of 13 octets on stream 0 without flags, with R and unused boundaries zero [CG-FRAME2-4, CG-FRAME2-5, CG-FRAME2-7, CG-BOUND-7, CG-ACT-2, CG-ACT-3, CG-ACT-4]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const { group } = await stage.deliver(client, 1, "907");
      group?.block(60);
      group?.limit(3);
      group?.clear();
      group?.goaway({ alone: true });
      await client.ping();
      const received = client.received("GROUP_CONTROL");
      assert.deepEqual(
        received.map(({ payload }) => toHex(payload)),
        [
          "0000038b0000003c0100000000",
          "0000038b000000030200000000",
          "0000038b000000000300000000",
          "0000038b000000010000000001",
        ],
      );
      for (const { flags: bits, streamId } of received) assert.deepEqual([bits, streamId], [0, 0]);
    },
  );

  scenario(
    "without a policy sends none, whatever the application says [E15, CG-FRAME2-3]",
    "off",
    async (stage) => {
      const client = await stage.intermediary();
      const { group, answer } = await stage.deliver(client, 1, "907");
      for (const call of ["block", "limit"] as const) {
        assert.throws(
          () => group?.[call](1),
          (error) => group === undefined || (error as ClientGroupError).code === "NOT_NEGOTIATED",
        );
      }
      answer(new Response("fine"));
      assert.equal((await client.response(1)).content, "fine");
      assert.deepEqual(client.received("GROUP_CONTROL"), []);
    },
  );

  scenario(
    "sends no value that would be ignored [CG-BLOCK-4, CG-LIMIT-4, CG-SEC-7]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const { group } = await stage.deliver(client, 1, "907");
      for (const seconds of [0, 86_401, 1.5]) {
        assert.throws(() => group?.block(seconds), ClientGroupError);
      }
      assert.throws(() => group?.limit(0), ClientGroupError);
      await client.ping();
      assert.deepEqual(client.received("GROUP_CONTROL"), []);
    },
  );

  scenario(
    "sets no boundary below a stream that the application got, and raises none [A11, E15, CG-GOAWAY-8, CG-GOAWAY-9, CG-S34]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const { group } = await stage.deliver(client, 1, "907");
      await stage.deliver(client, 3, "48213");
      await stage.deliver(client, 5, "907");
      group?.goaway();
      // Crosses the frame on the wire.
      client.nextStream = 7;
      client.request({ path: "/7", fields: [["client-group", "907"]] });
      assert.equal(await client.reset(7), codes.REFUSED_STREAM);
      await stage.deliver(client, 9, "48213");
      group?.goaway({ alone: true });
      await client.ping();
      assert.deepEqual(
        client.received("GROUP_CONTROL").map(({ payload }) => toHex(payload.subarray(4))),
        ["000000000000000005", "000000010000000005"],
      );
      assert.deepEqual(
        stage.delivered.map(({ path }) => path),
        ["/1", "/3", "/5", "/9"],
      );
    },
  );
}

function examples(): void {
  scenario(
    "blocks one client: the frame, CANCEL for 39, REFUSED_STREAM for what comes late, and 200 for the other [CG-EX-2, CG-EX-3, CG-EX-6, CG-STOP-1, CG-STOP-2, CG-STOP-3, CG-STOP-4, CG-STOP-5, CG-STOP-6, CG-STOP-7, CG-SEC-9]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const s37 = await stage.deliver(client, 37, "48213");
      const s39 = await stage.deliver(client, 39, "907", { method: "POST", content: "x" });
      s39.group?.block(60);
      await client.ping();
      // The frame alone resets nothing.
      assert.deepEqual(client.received("RST_STREAM"), []);
      assert.equal(s39.group?.resetStreams(), 1);
      assert.equal(await client.reset(39), codes.CANCEL);
      assert.equal(s39.signal.aborted, true);
      for (const id of [43, 45]) {
        client.nextStream = id;
        client.request({
          method: "POST",
          path: `/${id}`,
          fields: [["client-group", "907"]],
          content: "x",
        });
        assert.equal(await client.reset(id), codes.REFUSED_STREAM);
      }
      s37.answer(new Response("as normal"));
      assert.equal((await client.response(37)).content, "as normal");
      assert.equal(
        toHex(client.received("GROUP_CONTROL")[0]?.payload ?? new Uint8Array()),
        "0000038b0000003c0100000000",
      );
      assert.equal(client.received("RST_STREAM").length, 3);
      assert.deepEqual(client.goaways, []);
    },
  );

  scenario(
    "moves one client: boundary 43, refusal of 45, answers to 39 and 43 [CG-EX-7, CG-EX-8, CG-ACT-1, CG-BOUND-2, CG-FRAME2-9]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const s37 = await stage.deliver(client, 37, "48213");
      const s39 = await stage.deliver(client, 39, "907");
      const s43 = await stage.deliver(client, 43, "907");
      s39.group?.goaway({ alone: true });
      client.nextStream = 45;
      client.request({ path: "/45", fields: [["client-group", "907"]] });
      assert.equal(await client.reset(45), codes.REFUSED_STREAM);
      const s47 = await stage.deliver(client, 47, "48213");
      for (const [id, { answer }] of [
        [37, s37],
        [39, s39],
        [43, s43],
        [47, s47],
      ] as const) {
        answer(new Response(String(id)));
        assert.equal((await client.response(id)).content, String(id));
      }
      assert.equal(
        toHex(client.received("GROUP_CONTROL")[0]?.payload ?? new Uint8Array()),
        "0000038b00000001000000002b",
      );
    },
  );
}

function endings(): void {
  scenario(
    "rotates in two steps, serves what comes between them, and has another policy afterwards [A04, A05, A11, CG-PROC-11, CG-CGOAWAY-5]",
    5,
    async (stage) => {
      const client = await RawClient.connect({
        port: stage.server.port,
        settings: sharing,
        automatic: { ack: false },
      });
      const one = await stage.deliver(client, 1, "907");
      const rotated = stage.server.rotate({ policy: 3 });
      assert.deepEqual(await client.goaway(), { last: 0x7fff_ffff, code: codes.NO_ERROR });
      const two = await stage.deliver(client, 3, "907");
      // The round trip: PING behind the first step is answered only now.
      const ping = await client.until("PING", () =>
        client.received("PING").find(({ flags: bits }) => bits === 0),
      );
      client.write(frame(frameTypes.PING, flags.ACK, 0, ping.payload));
      const second = await client.until("the second GOAWAY", () => client.goaways[1]);
      assert.deepEqual(second, { last: 3, code: codes.NO_ERROR });
      one.answer(new Response("one"));
      two.answer(new Response("two"));
      assert.equal((await client.response(1)).content, "one");
      assert.equal((await client.response(3)).content, "two");
      await rotated;
      const later = await stage.intermediary();
      await later.ping();
      assert.equal(new Map(later.settings[0]).get(settings.SHARED_CONNECTION_POLICY), 3);
      await client.close();
    },
  );

  scenario(
    "resets what the application had never with REFUSED_STREAM [CG-SEC-9, CG-STOP-5]",
    0,
    async (stage) => {
      const client = await stage.intermediary();
      const { answer } = await stage.deliver(client, 1, "907", { method: "POST", content: "x" });
      answer(
        new Response(
          new ReadableStream({
            pull(controller) {
              controller.error(new Error("fails midway"));
            },
          }),
        ),
      );
      assert.equal(await client.reset(1), codes.INTERNAL_ERROR);
      assert.equal(client.stream(1).ended, false);
    },
  );
}

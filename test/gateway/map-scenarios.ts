/** The stream map as an operator sees it, against what is on the wire: areas MAP and STATE. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { settings } from "../support/http2/frames.ts";
import { play, policy, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function mapScenarios(): void {
  describe("the stream map", () => {
    scenario(
      "tells of each request where it came from, where it goes and how far it is [CG-MAP-1, CG-MAP-2, CG-MAP-3, CG-MAP-4, CG-MAP-5, CG-MAP-6, CG-MAP-7, CG-STATE-4]",
      {
        settings: [...policy(0), [settings.MAX_CONCURRENT_STREAMS, 2]],
        config: { limits: { connectionsPerKey: 1, replayBytes: 1024 } },
      },
      async (stage) => {
        const [a, b] = await stage.clients(2);
        assert.ok(a && b);
        const connection = await stage.share(a);
        const get = await stage.place(a, "/get");
        const upload = await stage.place(b, "/up", { method: "POST", content: "x", open: true });
        const waiting = b.request({ path: "/waits" });
        await stage.bed.until(() => stage.bed.queued() === 1);
        const rows = () => stage.bed.streams();
        const at = (stream: number) => rows().find(({ to }) => to?.stream === stream);
        assert.equal(rows().length, 3);
        const [placed, posted] = [at(get.at.id), at(upload.at.id)];
        const queued = rows().find(({ to }) => to === undefined);
        assert.deepEqual([placed?.from.stream, placed?.identifier], [get.id, get.at.group]);
        assert.deepEqual([posted?.from.stream, posted?.identifier], [upload.id, upload.at.group]);
        assert.equal(queued?.from.stream, waiting);
        assert.equal(queued?.from.connection, posted?.from.connection);
        assert.notEqual(placed?.from.connection, posted?.from.connection);
        assert.equal(placed?.to?.connection, stage.bed.connections()[0]?.id);
        assert.deepEqual([placed?.sent, posted?.sent, queued?.sent], [true, true, false]);
        assert.deepEqual(
          [placed?.contentComplete, posted?.contentComplete, queued?.contentComplete],
          [true, false, true],
        );
        assert.deepEqual([placed?.replayable, queued?.replayable], [true, true]);
        await b.data(upload.id, utf8("y".repeat(5_000)), true);
        await upload.at.content();
        assert.equal(at(upload.at.id)?.replayable, false);
        assert.deepEqual([placed?.responseReceived, placed?.responseForwarded], [false, false]);
        connection.headers(get.at.id, [[":status", "200"]]);
        await a.head(get.id);
        const answered = at(get.at.id);
        assert.deepEqual([answered?.responseReceived, answered?.responseForwarded], [true, true]);
        await connection.data(get.at.id, utf8("x"), true);
        await get.response();
        const next = await stage.origin.requestFor("/waits");
        for (const request of [upload.at, next]) request.respond(200);
        await upload.response();
        await b.response(waiting);
        assert.deepEqual(rows(), []);
      },
    );
  });
}

/** QMux sessions inside workerd: in a Worker, and in a Durable Object. The client runs on Bun. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { concatBytes, equalBytes, utf8 } from "../../src/bytes.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { root } from "./processes.ts";

let miniflare: Miniflare;
let host: string;

beforeAll(async () => {
  const bundle = await build({
    entryPoints: [join(root, "test", "support", "qmux-worker.ts")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
  });
  miniflare = new Miniflare({
    modules: true,
    script: (bundle.outputFiles[0] as { text: string }).text,
    compatibilityDate: "2026-04-01",
    durableObjects: { SESSIONS: "Session" },
  });
  host = (await miniflare.ready).host;
});

afterAll(() => miniflare.dispose());

async function withSession(path: string, body: (session: Transport) => Promise<void>) {
  const session = await connectQmux(`ws://${host}${path}`, { protocols: ["moqt-22"] });
  try {
    await body(session);
  } finally {
    session.close(0n, "");
    await session.closed;
  }
}

async function ask(session: Transport, question: Uint8Array): Promise<Uint8Array> {
  const stream = await session.openBidi();
  await stream.write(question, true);
  const parts: Uint8Array[] = [];
  for (let part = await stream.read(); part !== null; part = await stream.read()) parts.push(part);
  return concatBytes(...parts);
}

for (const path of ["/worker", "/object"]) {
  describe(`a QMux session with ${path === "/worker" ? "a Worker" : "a Durable Object"}`, () => {
    test("negotiates MOQT and echoes with FIN", async () => {
      await withSession(path, async (session) => {
        expect(session.protocol).toBe("moqt-22");
        expect(await ask(session, utf8("SUBSCRIBE"))).toEqual(utf8("SUBSCRIBE"));
      });
    });

    test("carries half a megabyte there and back, and fifty requests at once", async () => {
      await withSession(path, async (session) => {
        const part = crypto.getRandomValues(new Uint8Array(0x1_0000));
        const bytes = concatBytes(...Array.from({ length: 8 }, () => part));
        expect(equalBytes(await ask(session, bytes), bytes)).toBe(true);
        const questions = Array.from({ length: 50 }, (_, i) => utf8(`request ${i}`));
        const answers = await Promise.all(questions.map((question) => ask(session, question)));
        expect(answers).toEqual(questions);
      });
    });

    test("tells reset codes exactly", async () => {
      await withSession(path, async (session) => {
        const stream = await session.openBidi();
        await stream.write(utf8("half a mess"));
        stream.reset(0x11cn);
        await expect(stream.read()).rejects.toMatchObject({
          code: "STREAM_RESET",
          applicationCode: 0x11cn,
        });
      });
    });

    test("is closed with code and reason", async () => {
      await withSession(path, async (session) => {
        const stream = await session.openBidi();
        await stream.write(utf8("close"), true);
        expect(await session.closed).toEqual({
          by: "remote",
          app: true,
          code: 0x10n,
          reason: "as you wish",
        });
      });
    });

    test("is refused without a subprotocol, and without an upgrade", async () => {
      const attempt = connectQmux(`ws://${host}${path}`, { protocols: ["moqt-17"] });
      await expect(attempt).rejects.toMatchObject({ code: "CONNECT_FAILED" });
      expect((await fetch(`http://${host}${path}`)).status).toBe(426);
    });
  });
}

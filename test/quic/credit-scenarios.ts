/** How streams end, and that each gives its place back to the peer that opened it. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { QuicStream, QuicStreamKind } from "../../src/quic/mod.ts";
import { type Backends, bytesOf, readAll, text, within, withPair } from "./pair.ts";

const LIMIT = 8;
/** Longer than it takes until what was sent before is confirmed. */
const A_WHILE = 100;

type Act = (stream: QuicStream) => unknown;

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** What the one who opens does, once it was stopped or has waited for that. */
const openerActs: Record<string, Act> = {
  FIN: (stream) => stream.end(),
  "bytes and FIN": (stream) => stream.write(new Uint8Array(3000), true),
  "a reset": (stream) => stream.reset(5n),
};

/** What the one who accepts does with a stream of either kind. */
const readerActs: Record<string, Act> = {
  "stopped at once": (stream) => stream.stopSending(3n),
  "stopped after the first bytes": async (stream) => {
    await stream.read();
    stream.stopSending(3n);
  },
  "stopped after a while": async (stream) => {
    await pause(A_WHILE / 3);
    stream.stopSending(3n);
  },
  "stopped when its end has come": async (stream) => {
    await pause(A_WHILE);
    stream.stopSending(3n);
  },
};

/** What it does with a bidirectional one. */
const answererActs: Record<string, Act> = {
  "ended and read": (stream) => Promise.all([stream.end(), readAll(stream)]),
  "ended, then stopped": async (stream) => {
    await stream.end();
    stream.stopSending(3n);
  },
  "ended, then stopped after a while": async (stream) => {
    await stream.write(bytesOf("answer"), true);
    await pause(A_WHILE);
    stream.stopSending(3n);
  },
  "stopped, then ended after a while": async (stream) => {
    stream.stopSending(3n);
    await stream.write(bytesOf("answer"));
    await pause(A_WHILE);
    await stream.end();
  },
  "reset and read": async (stream) => {
    stream.reset(4n);
    await readAll(stream);
  },
  "reset with bytes on the way, and read": async (stream) => {
    await stream.write(new Uint8Array(50_000));
    stream.reset(4n);
    await readAll(stream);
  },
  "reset and stopped": (stream) => {
    stream.reset(4n);
    stream.stopSending(3n);
  },
  "reset, then stopped after a while": async (stream) => {
    stream.reset(4n);
    await pause(A_WHILE);
    stream.stopSending(3n);
  },
  "stopped, then reset after a while": async (stream) => {
    stream.stopSending(3n);
    await pause(A_WHILE);
    stream.reset(4n);
  },
};

export function creditScenarios(backends: Backends): void {
  describe(`places of streams from ${backends.client} to ${backends.server}`, () => {
    for (const [name, act] of Object.entries(readerActs)) {
      test(`a unidirectional stream that is ${name} gives its place back`, async () => {
        for (const end of Object.values(openerActs)) await cycle(backends, "uni", act, end);
      });
    }
    for (const [name, act] of Object.entries(answererActs)) {
      test(`a bidirectional stream that is ${name} gives its place back`, async () => {
        for (const end of Object.values(openerActs)) await cycle(backends, "bidi", act, end);
      });
    }

    if (backends.server === "quiche" && backends.client === "quiche") {
      test("streams that are stopped and end soon after do not use their places up", () =>
        withPair(
          backends,
          async ({ client, accepted }) => {
            void (async () => {
              for (let stream = await accepted.accept(); stream; stream = await accepted.accept()) {
                if (text(await stream.read()) === "begun") stream.stopSending(3n);
              }
            })().catch(() => {});
            const endOne = async () => {
              const stream = await client.openUni();
              await stream.write(bytesOf("begun"));
              await pause(A_WHILE / 2);
              await stream.end().catch(() => {});
            };
            for (let round = 0; round < 20; round++) {
              await within(Promise.all(Array.from({ length: LIMIT }, endOne)));
            }
            // All but those of the stops that were sent at once.
            for (let open = 0; open < LIMIT - LIMIT / 4; open++) {
              const stream = await within(client.openUni());
              await stream.write(bytesOf("stays"));
            }
          },
          { listen: { maxUniStreams: LIMIT } },
        ));

      test("streams that are stopped and do not end are told so, however many were stopped before", () =>
        withPair(
          backends,
          async ({ client, accepted }) => {
            void (async () => {
              for (let stream = await accepted.accept(); stream; stream = await accepted.accept()) {
                stream.stopSending(3n);
              }
            })().catch(() => {});
            for (let stopped = 0; stopped < LIMIT / 2; stopped++) {
              const stream = await client.openUni();
              const writing = async () => {
                for (;;) await stream.write(new Uint8Array(10_000));
              };
              await assert.rejects(within(writing()), { code: "STREAM_STOPPED" });
              stream.reset(4n);
            }
          },
          { listen: { maxUniStreams: LIMIT } },
        ));
    }

    // Deno's own stack tells of a stop only once something is written.
    if (backends.client === "deno") return;
    test("streams of a peer that ends them only when they are stopped give theirs back", async () => {
      for (const name of ["ended, then stopped", "ended, then stopped after a while"]) {
        const obey: Act = async (stream) => {
          await stream.stopped;
          stream.reset(6n);
        };
        await cycle(backends, "bidi", answererActs[name] as Act, obey);
      }
    });
  });
}

/** Opens three times as many streams as the peer grants at once, and ends each in the given way. */
async function cycle(
  backends: Backends,
  kind: QuicStreamKind,
  accepterActs: Act,
  openerEnds: Act,
): Promise<void> {
  await withPair(
    backends,
    async ({ client, accepted }) => {
      void (async () => {
        for (let stream = await accepted.accept(); stream; stream = await accepted.accept()) {
          const own = stream;
          (async () => accepterActs(own))().catch(() => {});
        }
      })();
      let opened = 0;
      const openOne = async () => {
        const stream = await (kind === "uni" ? client.openUni() : client.openBidi());
        opened++;
        await stream.write(bytesOf("begun"));
        if (kind === "bidi") readAll(stream).catch(() => {});
        await Promise.race([stream.stopped, pause(A_WHILE / 2)]);
        await (async () => openerEnds(stream))().catch(() => {});
      };
      const all = Promise.all(Array.from({ length: 3 * LIMIT }, openOne));
      await within(all, 5_000).catch(() => {});
      all.catch(() => {});
      assert.equal(opened, 3 * LIMIT);
    },
    { listen: { maxBidiStreams: LIMIT, maxUniStreams: LIMIT } },
  );
}

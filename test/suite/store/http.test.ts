import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  currentKey,
  generateSigningKey,
  SnapshotHolder,
  signSnapshot,
  trustSigningKeys,
  versionKey,
} from "../../../src/snapshot/mod.ts";
import { httpStore } from "../../../src/store/http.ts";
import { HOUR, snapshotOf, T0 } from "../snapshot/fixtures.ts";

interface Asked {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a scripted agent does with a request. */
type Script = (request: Asked, signal: AbortSignal) => Response | Promise<Response>;

/** A store over an agent that answers by script, and a holder that reads it. */
async function bench() {
  const key = await generateSigningKey("agent");
  const asked: Asked[] = [];
  let script: Script = () => new Response(null, { status: 503 });
  let tokens = 0;
  const store = httpStore({
    url: "https://agent.example",
    token: async () => `token-${++tokens}`,
    async fetch(url, { headers, signal, redirect }) {
      assert.equal(redirect, "manual");
      const request = { url, headers: headers as Record<string, string> };
      asked.push(request);
      return await script(request, signal as AbortSignal);
    },
  });
  const clock = { now: T0 };
  const holder = new SnapshotHolder({
    source: store,
    trustedKeys: trustSigningKeys(key),
    maximumAge: HOUR,
    maximumBytes: 4096,
    now: () => clock.now,
  });
  const envelope = async (version: number) =>
    (await signSnapshot(snapshotOf(version), key, { issuedAt: T0 })) as Uint8Array<ArrayBuffer>;
  /** As the agent answers: 304 to whoever has the version. */
  const serve = async (version: number): Promise<Script> => {
    const bytes = await envelope(version);
    const etag = `"v${version}"`;
    return ({ headers }) =>
      headers["if-none-match"] === etag
        ? new Response(null, { status: 304, headers: { etag } })
        : new Response(bytes, { headers: { etag, "content-type": "application/cose" } });
  };
  return {
    store,
    holder,
    asked,
    envelope,
    serve,
    answer(next: Script) {
      script = next;
    },
  };
}

describe("a store over HTTP", () => {
  test("gets the snapshot with a token of its own for each request [LB-CONF-18] [LB-CONF-21]", async () => {
    const { holder, asked, answer, serve } = await bench();
    answer(await serve(7));
    assert.equal((await holder.refresh()).reason, "activated");
    assert.equal(asked[0]?.url, "https://agent.example/v1/snapshot");
    assert.deepEqual(asked[0]?.headers, {
      accept: "application/cose",
      authorization: "Bearer token-1",
    });
    await holder.refresh();
    assert.equal(asked[1]?.headers.authorization, "Bearer token-2");
  });

  test("says what it has, and a 304 stands for those bytes", async () => {
    const { holder, store, asked, answer, serve } = await bench();
    const first = await serve(7);
    answer(first);
    await holder.refresh();
    const before = await store.get(currentKey);
    assert.equal(asked[1]?.headers["if-none-match"], '"v7"');
    assert.deepEqual(await store.get(currentKey), before);
    assert.equal((await holder.refresh()).reason, "unchanged");
    answer(await serve(8));
    assert.equal((await holder.refresh()).reason, "activated");
    assert.equal(holder.active?.snapshot.version, 8);
  });

  test("does not believe a 304 that it did not ask for", async () => {
    const { holder, answer } = await bench();
    answer(() => new Response(null, { status: 304, headers: { etag: '"v9"' } }));
    const { reason, error } = await holder.refresh();
    assert.deepEqual([reason, error?.message], ["store-error", "the agent answered 304"]);
  });

  test("an envelope that was cut short changes nothing [LB-CONF-21]", async () => {
    const { holder, answer, serve, envelope } = await bench();
    answer(await serve(7));
    await holder.refresh();
    const eight = await envelope(8);
    answer(() => new Response(eight.slice(0, -1), { headers: { etag: '"v8"' } }));
    assert.equal((await holder.refresh()).reason, "malformed");
    assert.equal(holder.active?.snapshot.version, 7);
  });

  test("a flipped byte on the way changes nothing [LB-CONF-19]", async () => {
    const { holder, answer, serve, envelope } = await bench();
    answer(await serve(7));
    await holder.refresh();
    const eight = await envelope(8);
    eight[eight.length - 5] = (eight.at(-5) as number) ^ 1;
    answer(() => new Response(eight, { headers: { etag: '"v8"' } }));
    assert.equal((await holder.refresh()).reason, "bad-signature");
    assert.equal(holder.active?.snapshot.version, 7);
  });

  test("an envelope by another key is refused, whoever's token was taken [LB-CONF-21]", async () => {
    const { holder, answer } = await bench();
    const other = await generateSigningKey("other");
    const bytes = await signSnapshot(snapshotOf(9), other, { issuedAt: T0 });
    answer(() => new Response(bytes as Uint8Array<ArrayBuffer>));
    assert.equal((await holder.refresh()).reason, "untrusted-key");
  });

  test("an old version that the agent returns is not gone back to [LB-ROT-3]", async () => {
    const { holder, answer, serve } = await bench();
    answer(await serve(8));
    await holder.refresh();
    answer(await serve(7));
    assert.equal((await holder.refresh()).reason, "older-version");
    assert.equal(holder.active?.snapshot.version, 8);
  });

  test("bytes that never became active are asked for anew, once a holder follows", async () => {
    const { holder, store, asked, answer, serve, envelope } = await bench();
    const end = store.watch(holder, { timers: { setTimeout: () => 0, clearTimeout: () => {} } });
    end();
    const eight = await envelope(8);
    answer(() => new Response(eight.slice(0, 100), { headers: { etag: '"v8"' } }));
    assert.equal((await holder.refresh()).reason, "malformed");
    answer(await serve(8));
    assert.equal((await holder.refresh()).reason, "activated");
    assert.equal(asked.at(-1)?.headers["if-none-match"], undefined);
    await holder.refresh();
    assert.equal(asked.at(-1)?.headers["if-none-match"], '"v8"');
  });

  test("more bytes than the limit are not read to their end, whatever the length says", async () => {
    const { holder, answer } = await bench();
    answer(() => new Response(new Uint8Array(4097), { headers: { "content-length": "4097" } }));
    assert.equal((await holder.refresh()).reason, "too-large");
    let pulled = 0;
    let cancelled = false;
    answer(() => {
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            pulled++;
            controller.enqueue(new Uint8Array(1024));
          },
          cancel() {
            cancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body);
    });
    assert.equal((await holder.refresh()).reason, "too-large");
    assert.equal(pulled, 5);
    assert.equal(cancelled, true);
  });

  test("nothing published yet, a refused token, a redirect and an error each change nothing", async () => {
    const { holder, answer, serve } = await bench();
    const reason = async (status: number) => {
      answer(() => new Response(null, { status, headers: { location: "https://evil.example" } }));
      const { reason, error } = await holder.refresh();
      return [reason, error?.message];
    };
    assert.deepEqual((await reason(404))[0], "missing");
    for (const status of [302, 401, 403, 429, 500, 503]) {
      assert.deepEqual(await reason(status), ["store-error", `the agent answered ${status}`]);
    }
    answer(() => Promise.reject(new TypeError("connection refused")));
    const { reason: unreachable, error } = await holder.refresh();
    assert.deepEqual([unreachable, error?.code], ["store-error", "STORE_FAILED"]);
    answer(await serve(7));
    assert.equal((await holder.refresh()).reason, "activated");
  });

  test("an agent that hangs is given up after the timeout", async () => {
    const store = httpStore({
      url: "https://agent.example",
      token: async () => "token",
      timeout: 5,
      fetch: (_, { signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    });
    await assert.rejects(store.get(currentKey), { code: "STORE_TIMEOUT" });
  });

  test("gives the current snapshot alone, and takes none", async () => {
    const { store } = await bench();
    await assert.rejects(store.get(versionKey(7)), { code: "STORE_FAILED" });
    assert.equal(store.set, undefined);
  });

  test("goes to https alone, or to the loopback [LB-CONF-20]", () => {
    const token = async () => "";
    assert.throws(() => httpStore({ url: "http://agent.example", token }), {
      code: "INVALID_CONFIGURATION",
    });
    httpStore({ url: "http://127.0.0.1:8790", token });
  });
});

/** Lets everything go on that waits for no timer of the test's. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Timers that the test fires, by their delay. */
class Delays {
  readonly pending: { readonly callback: () => void; readonly delay: number }[] = [];

  setTimeout(callback: () => void, delay: number): unknown {
    const entry = { callback, delay };
    this.pending.push(entry);
    return entry;
  }

  clearTimeout(timer: unknown): void {
    const at = this.pending.indexOf(timer as never);
    if (at >= 0) this.pending.splice(at, 1);
  }

  /** Waits until exactly one timer is set, which is not that of a poll, and fires it. */
  async next(): Promise<number> {
    while (this.pending.length !== 1 || this.pending[0]?.delay === pollTimeout) await turn();
    const [entry] = this.pending.splice(0);
    entry?.callback();
    return entry?.delay as number;
  }
}

const pollTimeout = 35_000;

describe("a watch over HTTP", () => {
  test("has the holder look as soon as there is another version", async () => {
    const { holder, store, asked, answer, serve } = await bench();
    answer(await serve(7));
    await holder.refresh();
    let publish: (answer: Response) => void = () => {};
    const eight = await serve(8);
    answer((request, signal) => {
      if (!request.url.includes("?")) return eight(request, signal);
      return new Promise((resolve) => {
        publish = resolve;
      });
    });
    const timers = new Delays();
    const end = store.watch(holder, { timers, random: () => 0.5 });
    while (asked.length < 2) await turn();
    assert.equal(asked[1]?.url, "https://agent.example/v1/snapshot?after=7&wait=25");
    publish(new Response("the envelope, which is asked for again"));
    assert.equal(await timers.next(), 500);
    while (holder.active?.snapshot.version !== 8) await turn();
    assert.equal(await timers.next(), 750);
    while (asked.length < 4) await turn();
    assert.equal(asked[3]?.url, "https://agent.example/v1/snapshot?after=8&wait=25");
    end();
  });

  test("asks again after a quiet while, and less and less where the agent fails", async () => {
    const { holder, store, asked, answer } = await bench();
    answer(() => new Response(null, { status: 304 }));
    const timers = new Delays();
    const end = store.watch(holder, { timers, random: () => 0.5 });
    assert.deepEqual([await timers.next(), await timers.next()], [750, 750]);
    answer(() => new Response(null, { status: 503 }));
    const pauses: number[] = [];
    while (pauses.filter((pause) => pause === 45_000).length < 2) pauses.push(await timers.next());
    assert.deepEqual(pauses.slice(-8), [750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000]);
    assert.equal(asked[0]?.url, "https://agent.example/v1/snapshot?after=0&wait=25");
    end();
  });

  test("does not spin on a version that is announced and never becomes active", async () => {
    const { holder, store, answer, envelope } = await bench();
    const bytes = (await envelope(9)).slice(0, 100);
    answer(() => new Response(bytes));
    const timers = new Delays();
    const end = store.watch(holder, { timers, random: () => 0.5 });
    const pauses: number[] = [];
    for (let i = 0; i < 6; i++) pauses.push(await timers.next());
    // Each spread of half a second is followed by a longer pause.
    assert.deepEqual(pauses, [500, 750, 500, 1500, 500, 3000]);
    end();
  });

  test("ends at once, also in the midst of a poll, and leaves no timer", async () => {
    const { holder, store, asked, answer } = await bench();
    let aborted = false;
    answer(
      (_, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    );
    const timers = new Delays();
    const end = store.watch(holder, { timers });
    while (asked.length < 1) await turn();
    end();
    assert.equal(aborted, true);
    for (let i = 0; i < 10; i++) await turn();
    assert.equal(timers.pending.length, 0);
    assert.equal(asked.length, 1);
  });
});

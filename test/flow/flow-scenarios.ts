/**
 * The flows of the draft's figures over the network: a balancer and relays at ports of this machine,
 * and clients that find their way. On Bun and Deno.
 *
 * @module
 */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { type ListeningRelay, listen } from "../../scripts/relay/listen.ts";
import { Relay, RelayNetwork } from "../../scripts/relay/mod.ts";
import { utf8 } from "../../src/bytes.ts";
import { type Client, type ClientEvent, connect } from "../../src/client/mod.ts";
import { listenForSessions, type SessionListeners } from "../../src/instance/listeners.ts";
import { createRedirectServer, defaultSessionLimits } from "../../src/moq-lb/mod.ts";
import { type Draft, draftName, drafts, formatName } from "../../src/moqt/mod.ts";
import type { QuicBackend } from "../../src/quic/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../src/snapshot/mod.ts";
import { namespace, Objects, track } from "../suite/client/tracks.ts";
import { activate } from "../suite/routing/fixtures.ts";
import { type QmuxServer, serveQmux } from "../support/qmux-server.ts";

const hostname = "127.0.0.1";

/** What the Connect URIs of the relays begin with. */
type RelayScheme = "moqt" | "https";

/** A balancer before relays of one network, all at ports of their own. */
class Site {
  readonly relays: readonly Relay[];
  readonly #listening: readonly ListeningRelay[];
  readonly #listeners: SessionListeners;
  readonly #sockets: QmuxServer;
  readonly #backend: QuicBackend;
  readonly #clients: Client[] = [];
  readonly #setHealth: (health: Readonly<Record<string, string>>) => void;

  private constructor(
    relays: readonly Relay[],
    listening: readonly ListeningRelay[],
    listeners: SessionListeners,
    sockets: QmuxServer,
    backend: QuicBackend,
    setHealth: (health: Readonly<Record<string, string>>) => void,
  ) {
    this.relays = relays;
    this.#listening = listening;
    this.#listeners = listeners;
    this.#sockets = sockets;
    this.#backend = backend;
    this.#setHealth = setHealth;
  }

  /** @param keyFields how many fields of a namespace decide; absent: all */
  static async open(
    rids: readonly string[],
    backend: QuicBackend,
    { scheme = "moqt", keyFields }: { readonly scheme?: RelayScheme; readonly keyFields?: number },
  ): Promise<Site> {
    const network = new RelayNetwork();
    const relays = rids.map((name) => new Relay({ name, network }));
    const listening = await Promise.all(relays.map((relay) => listen(relay, { backend })));
    const snapshot = (version: number, health: Readonly<Record<string, string>>) =>
      activate(
        parseSnapshot({
          version,
          relays: listening.map(({ uri, webTransportUri }, i) => ({
            rid: rids[i],
            uri: scheme === "moqt" ? uri : webTransportUri,
            health: health[rids[i] as string] ?? "healthy",
          })),
          routes: [
            {
              prefix: [],
              kind: "hashed",
              rids,
              ...(keyFields === undefined ? {} : { key_fields: keyFields }),
            },
          ],
        }),
      );
    const holder: { active: ActiveSnapshot } = { active: snapshot(1, {}) };
    const server = createRedirectServer({
      holder,
      authorization: "allow-all",
      now: () => holder.active.signedAt,
    });
    const listeners = await listenForSessions({
      server,
      hostname,
      listen: { port: 0, tcpPort: 0, backend },
      sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 0 },
      log() {},
    });
    const sockets = serveQmux({ protocols: drafts.map(draftName) });
    const serveSockets = async () => {
      for (;;) void server.serve(await sockets.accept());
    };
    void serveSockets();
    return new Site(relays, listening, listeners, sockets, backend, (health) => {
      holder.active = snapshot(holder.active.snapshot.version + 1, health);
    });
  }

  get quicUri(): string {
    return `moqt://${hostname}:${this.#listeners.udpPort}/moqt`;
  }

  get webTransportUri(): string {
    return `https://${hostname}:${this.#listeners.udpPort}/moqt`;
  }

  get webTransportH2Uri(): string {
    return `https://${hostname}:${this.#listeners.tcpPort}/moqt`;
  }

  get webSocketUri(): string {
    return `${this.#sockets.url}/moqt`;
  }

  relayUri(rid: string): string {
    return this.#of(rid).uri;
  }

  client(serviceUri: string, draft: Draft = 22) {
    const hashes = [this.#listeners, ...this.#listening].map(
      ({ certificateHash }) => certificateHash,
    );
    const events: ClientEvent[] = [];
    const client = connect({
      serviceUri,
      drafts: [draft],
      connection: {
        backend: this.#backend,
        certificateHashes: hashes.filter((hash) => hash !== undefined),
        fallbackDelay: 200,
      },
      onEvent: (event) => events.push(event),
    });
    this.#clients.push(client);
    return { client, events };
  }

  relay(rid: string): Relay {
    return this.relays.find(({ name }) => name === rid) as Relay;
  }

  /** Another snapshot is in force. */
  publish(health: Readonly<Record<string, string>>): void {
    this.#setHealth(health);
  }

  /** The process of a relay dies. */
  async kill(rid: string): Promise<void> {
    await this.#of(rid).close();
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await Promise.all(this.#listening.map((relay) => relay.close()));
    await Promise.all([this.#listeners.close(), this.#sockets.close()]);
  }

  #of(rid: string): ListeningRelay {
    return this.#listening[this.relays.findIndex(({ name }) => name === rid)] as ListeningRelay;
  }
}

const game = track("live/sports/game-7", "audio");

/** Registers the flows, with QUIC by `backend` at both ends. */
export function flowScenarios(title: string, backend: QuicBackend): void {
  /** A test with a site of its own. */
  const flow = (
    name: string,
    rids: readonly string[],
    options: { readonly scheme?: RelayScheme; readonly keyFields?: number },
    body: (site: Site) => Promise<void>,
  ) =>
    test(name, async () => {
      const site = await Site.open(rids, backend, options);
      try {
        await body(site);
      } finally {
        await site.close();
      }
    });

  describe(`flows over ${title}`, () => {
    for (const draft of drafts) {
      flow(
        `two tracks are placed on two relays by one session, in draft ${draft} [LB-EX-1, LB-EX-2, LB-REDIR-11]`,
        ["R1", "R2"],
        {},
        async (site) => {
          const { client: publisher } = site.client(site.relayUri("R1"), draft);
          const audio = await publisher.publish(game);
          const video = await publisher.publish(track("live/news/ch-2", "video"));
          const { client, events } = site.client(site.quicUri, draft);
          const first = new Objects(await client.subscribe(game));
          const second = new Objects(await client.subscribe(track("live/news/ch-2", "video")));
          for (const [published, words] of [
            [audio, ["kick-off", "goal"]],
            [video, ["headlines"]],
          ] as const) {
            const group = published.openGroup();
            for (const word of words) await group.write(utf8(word));
            await group.end();
          }
          assert.deepEqual(await first.take(2), ["0/0 kick-off", "0/1 goal"]);
          assert.deepEqual(await second.take(1), ["0/0 headlines"]);
          const redirects = events.flatMap((event) =>
            event.type === "redirected" ? [event.to.uri] : [],
          );
          assert.deepEqual(redirects, [site.relayUri("R2"), site.relayUri("R1")]);
          const connected = events.filter(({ type }) => type === "connected");
          assert.equal(connected.length, 3);
        },
      );
    }

    flow(
      "alice and bob meet on one relay [LB-EX-7, LB-EX-8, LB-REDIR-12]",
      ["r1", "r2", "r3"],
      { keyFields: 2 },
      async (site) => {
        const { client: alice } = site.client(site.quicUri);
        const camera = alice.track(track("example.com/m1/alice", "camera"));
        await alice.publishNamespace({ trackNamespace: namespace("example.com/m1/alice") });
        const { client: bob, events } = site.client(site.quicUri);
        const namespaces = await bob.subscribeNamespace({ prefix: namespace("example.com/m1") });
        const { value } = await namespaces[Symbol.asyncIterator]().next();
        assert.equal(formatName(value?.trackNamespace ?? []), "example.2ecom-m1-alice");
        const objects = new Objects(await bob.subscribe(track("example.com/m1/alice", "camera")));
        await camera.wanted();
        const group = camera.openGroup();
        await group.write(utf8("hello"));
        await group.end();
        assert.deepEqual(await objects.take(1), ["0/0 hello"]);
        assert.deepEqual(
          site.relay("r2").seen.map(({ type }) => type),
          ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE"],
        );
        assert.equal(events.filter(({ type }) => type === "connected").length, 2);
      },
    );

    const ways = {
      "WebTransport over HTTP/3": (site: Site) => site.webTransportUri,
      "WebTransport over HTTP/2": (site: Site) => site.webTransportH2Uri,
      "QMux over a WebSocket": (site: Site) => site.webSocketUri,
    };
    for (const [way, uriOf] of Object.entries(ways)) {
      flow(
        `a balancer by ${way} sends to relays by WebTransport [LB-KEY-1, SU-03]`,
        ["R1", "R2"],
        { scheme: "https" },
        async (site) => {
          const { client: publisher } = site.client(uriOf(site));
          const published = await publisher.publish(game);
          const { client, events } = site.client(uriOf(site));
          const objects = new Objects(await client.subscribe(game));
          const group = published.openGroup();
          await group.write(utf8("kick-off"));
          await published.end();
          assert.deepEqual(await objects.take(2), ["0/0 kick-off"]);
          const carriers = events.flatMap((event) =>
            event.type === "connected" ? [event.transport] : [],
          );
          assert.equal(carriers.length, 2);
          assert.equal(carriers[1], "webtransport-h3");
          assert.deepEqual(
            site.relay("R2").seen.map(({ type }) => type),
            ["PUBLISH", "SUBSCRIBE"],
          );
        },
      );
    }

    flow(
      "a relay that drains hands its clients over without a gap [LB-RGOAWAY-1, LB-RGOAWAY-3]",
      ["R1", "R2"],
      {},
      async (site) => {
        const { client: publisher } = site.client(site.relayUri("R1"));
        const published = await publisher.publish(game);
        const { client } = site.client(site.quicUri);
        const objects = new Objects(await client.subscribe(game));
        const write = async (word: string) => {
          const group = published.openGroup();
          await group.write(utf8(word));
          await group.end();
        };
        await write("before");
        assert.deepEqual(await objects.take(1), ["0/0 before"]);
        site.publish({ R2: "draining" });
        site.relay("R2").drain(site.quicUri, 5000);
        await until(() => site.relay("R1").seen.at(-1)?.type === "SUBSCRIBE");
        await write("after");
        assert.deepEqual(await objects.take(1), ["1/0 after"]);
        await until(() => site.relay("R2").sessions === 0);
      },
    );

    flow(
      "a relay that dies sends its clients back to the balancer [LB-RGOAWAY-5, LB-DISPL-13]",
      ["R1", "R2"],
      {},
      async (site) => {
        const { client: publisher } = site.client(site.relayUri("R1"));
        const published = await publisher.publish(game);
        const { client, events } = site.client(site.quicUri);
        const objects = new Objects(await client.subscribe(game));
        site.publish({ R2: "unhealthy" });
        await site.kill("R2");
        await until(() => site.relay("R1").seen.at(-1)?.type === "SUBSCRIBE");
        const group = published.openGroup();
        await group.write(utf8("after"));
        await group.end();
        assert.deepEqual(await objects.take(1), ["0/0 after"]);
        assert.ok(events.some(({ type }) => type === "retrying"));
      },
    );

    flow(
      "megabytes arrive whole, in order, and no faster than they are read",
      ["R1"],
      {},
      async (site) => {
        const { client: publisher } = site.client(site.quicUri);
        const published = await publisher.publish(game);
        const { client } = site.client(site.quicUri);
        const subscription = await client.subscribe(game);
        const size = 0x1_0000;
        const count = 48;
        const writing = (async () => {
          const group = published.openGroup();
          for (let i = 0; i < count; i++) await group.write(new Uint8Array(size).fill(i));
          await published.end();
        })();
        let received = 0;
        for await (const { objectId, payload } of subscription) {
          assert.equal(objectId, BigInt(received));
          assert.equal(payload.length, size);
          assert.ok(payload[0] === received && payload[size - 1] === received);
          received++;
        }
        await writing;
        assert.equal(received, count);
        assert.equal((await subscription.ended).status, "TRACK_ENDED");
      },
    );
  });
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!holds()) {
    assert.ok(Date.now() < deadline, "it never came to pass");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

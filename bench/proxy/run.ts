/** The benchmarks of proxy mode on the runtime that runs this; prints the rows as JSON. */

import process from "node:process";
import {
  type DevelopmentCertificate,
  developmentCertificate,
  stackName,
} from "../../src/quic/mod.ts";
import { compare } from "../compare.ts";
import { median } from "../pair.ts";
import { informs, type Row } from "../row.ts";
import type { MiddleKind } from "./middle.ts";
import { connectTo, Middle } from "./middle-process.ts";
import { BenchClient, BenchRelay, type Feed, groupOf } from "./peers.ts";

const budget = 0.7;

/** One client that gets tracks from a relay through something. */
interface Path {
  readonly client: BenchClient;
  readonly feeds: readonly Feed[];
  nextGroup: number;
}

type Pair = readonly [pump: Path, proxy: Path];

async function openPath(relay: BenchRelay, middle: Middle, tracks: number): Promise<Path> {
  const feeds: Feed[] = [];
  relay.onFeed = (feed) => feeds.push(feed);
  const client = new BenchClient(await middle.connect());
  for (let track = 0; track < tracks; track++) await client.subscribe(`t${track}`);
  return { client, feeds, nextGroup: 0 };
}

/** Objects per second from relay to client, on all tracks together. */
async function rate(path: Path, objects: number, perGroup: number, size: number): Promise<number> {
  const { client, feeds } = path;
  const perTrack = Math.ceil(objects / feeds.length);
  const groups = Math.ceil(perTrack / perGroup);
  const first = path.nextGroup;
  path.nextGroup += groups;
  let bytes = 0;
  const work = feeds.map((feed) =>
    Array.from({ length: groups }, (_, index) => {
      const parts = groupOf(feed, first + index, perGroup, size);
      // Its header comes with an alias of the same length: the numbers are small.
      for (const { length } of parts) bytes += length;
      return parts;
    }),
  );
  const start = performance.now();
  await Promise.all([
    client.received(bytes),
    ...feeds.map(async ({ session }, index) => {
      for (const parts of work[index] ?? []) {
        const stream = await session.openDataStream();
        for (const [i, part] of parts.entries()) await stream.write(part, i === parts.length - 1);
      }
    }),
  ]);
  const seconds = (performance.now() - start) / 1000;
  return (feeds.length * groups * perGroup) / seconds;
}

async function throughput(relay: BenchRelay, middles: readonly [Middle, Middle]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const tracks of [1, 10, 100]) {
    const pair: Pair = [
      await openPath(relay, middles[0], tracks),
      await openPath(relay, middles[1], tracks),
    ];
    const bulk = await compare((path) => rate(path, 1000, 10, 16_000), pair, 10);
    const small = await compare((path) => rate(path, 4000, 20, 100), pair, 10);
    for (const { client } of pair) await client.close();
    const name = tracks === 1 ? "1 track" : `${tracks} tracks`;
    const mega = (objects: number) => ((objects * 16_000) / 1e6).toFixed(0);
    rows.push(
      {
        what: `MB/s from relay to subscriber, objects of 16,000 bytes, ${name}`,
        ratio: bulk.ratio,
        budget: `at least ${budget} x`,
        met: bulk.ratio >= budget,
        detail: `${mega(bulk.subject)} MB/s, byte pump ${mega(bulk.base)} MB/s`,
      },
      {
        what: `objects a second from relay to subscriber, 100 bytes each, ${name}`,
        ratio: small.ratio,
        budget: `at least ${budget} x`,
        met: small.ratio >= budget,
        detail: `${small.subject.toFixed(0)}/s, byte pump ${small.base.toFixed(0)}/s`,
      },
    );
  }
  return rows;
}

/** Microseconds of each of `count` small objects, one after another on one stream. */
async function latencies(path: Path, count: number): Promise<number[]> {
  const [feed] = path.feeds;
  if (feed === undefined) throw new Error("there is no track");
  const parts = groupOf(feed, path.nextGroup++, count, 100);
  const stream = await feed.session.openDataStream();
  const times: number[] = [];
  for (const [i, part] of parts.entries()) {
    const start = performance.now();
    await Promise.all([
      path.client.received(part.length),
      stream.write(part, i === parts.length - 1),
    ]);
    times.push((performance.now() - start) * 1000);
  }
  // The first one opens the stream.
  return times.slice(1);
}

async function latency(relay: BenchRelay, middles: readonly [Middle, Middle]): Promise<Row[]> {
  const pair: Pair = [await openPath(relay, middles[0], 1), await openPath(relay, middles[1], 1)];
  const times: [number[], number[]] = [[], []];
  for (let round = -2; round < 8; round++) {
    for (const [index, path] of pair.entries()) {
      const measured = await latencies(path, 150);
      if (round >= 0) times[index as 0 | 1].push(...measured);
    }
  }
  for (const { client } of pair) await client.close();
  const [base, subject] = times;
  return (
    [
      ["median", 0.5],
      ["p99", 0.99],
    ] as const
  ).map(([name, share]) => {
    const [pumped, proxied] = [quantile(base, share), quantile(subject, share)];
    const added = proxied - pumped;
    return {
      what: `time of an object of 100 bytes from relay to subscriber, ${name}`,
      ratio: proxied / pumped,
      ...informs,
      detail: `${proxied.toFixed(0)} µs, byte pump ${pumped.toFixed(0)} µs: ${added.toFixed(0)} µs more`,
    };
  });
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] as number;
}

const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;

/** Sends the first object of a group that stays open. @returns how many bytes that were */
async function beginGroup(feed: Feed): Promise<number> {
  const [first] = groupOf(feed, 0, 1, 1000) as [Uint8Array];
  await (await feed.session.openDataStream()).write(first);
  return first.length;
}

/** What a process in the middle grows by for each session, and for each track on one. */
async function memory(relay: BenchRelay, relays: Parameters<typeof Middle.start>[1]) {
  const measured: Record<MiddleKind, { session: number; track: number }> = {
    pump: { session: 0, track: 0 },
    proxy: { session: 0, track: 0 },
  };
  for (const kind of ["pump", "proxy"] as const) {
    // A process of its own: what others have freed would be used again.
    const middle = await Middle.start(kind, relays);
    const connect = async (count: number) => {
      const clients: BenchClient[] = [];
      for (let each = 0; each < count; each++) {
        const client = new BenchClient(await middle.connect());
        // Once a track is granted, all that a session needs is there.
        await client.subscribe("idle");
        clients.push(client);
      }
      return clients;
    };
    for (const client of await connect(20)) await client.close();
    const before = await middle.state();
    const clients = await connect(100);
    const after = await middle.state();
    measured[kind].session = (after.memory - before.memory) / clients.length;
    const feeds: Feed[] = [];
    relay.onFeed = (feed) => feeds.push(feed);
    const busy = clients.slice(0, 10);
    for (const client of busy) {
      for (let track = 0; track < 80; track++) await client.subscribe(`m${track}`);
    }
    const sizes = await Promise.all(feeds.map(beginGroup));
    const perClient = sizes.reduce((sum, size) => sum + size, 0) / busy.length;
    await Promise.all(busy.map((client) => client.received(perClient)));
    const active = await middle.state();
    measured[kind].track = (active.memory - after.memory) / feeds.length;
    for (const client of clients) await client.close();
    middle.stop();
  }
  const row = (what: string, subject: number, base: number): Row => ({
    what,
    ratio: subject / base,
    ...informs,
    detail: `${kib(subject)}, byte pump ${kib(base)}`,
  });
  const { proxy, pump } = measured;
  return [
    row("memory of an idle session with its session to a relay", proxy.session, pump.session),
    row("memory of a track with a group under way", proxy.track, pump.track),
  ];
}

/** Sends a group with one object at once, and another every 5 ms, as long as the session lasts. */
async function publishOn({ session, alias }: Feed, priority: number): Promise<void> {
  for (; !session.isOver; await new Promise((resolve) => setTimeout(resolve, 5))) {
    const groupId = Math.floor(performance.now());
    const [bytes] = groupOf({ alias }, groupId, 1, 100, priority) as [Uint8Array];
    try {
      await (await session.openDataStream()).write(bytes, true);
    } catch {
      // The session has ended.
    }
  }
}

/** Resolves when a group comes from the relay whose groups have this priority. */
function groupFrom(client: BenchClient, priority: number): Promise<void> {
  return new Promise((resolve) => {
    client.onStream = ({ header, stream }) => {
      if (header.type === "SUBGROUP" && header.publisherPriority === priority) resolve();
      void (async () => {
        while ((await stream.read()) !== null);
      })().catch(() => {});
    };
  });
}

/** From the failure of the relay of a track to the first object from another one. */
async function failover(certificate: DevelopmentCertificate, rounds = 15): Promise<Row> {
  const relays = [await BenchRelay.start(certificate), await BenchRelay.start(certificate)];
  let serving = 0;
  for (const [index, relay] of relays.entries()) {
    relay.onFeed = (feed) => {
      serving = index;
      void publishOn(feed, index).catch(() => {});
    };
  }
  const uris = relays.map(({ uri }) => uri);
  const middle = await Middle.start("proxy", { uris, certificateHash: certificate.hashHex });
  const times: { readonly moved: number[]; readonly fresh: number[] } = { moved: [], fresh: [] };
  for (let round = -3; round < rounds; round++) {
    const client = new BenchClient(await middle.connect());
    await client.subscribe("f");
    const from = serving;
    await groupFrom(client, from);
    const other = groupFrom(client, 1 - from);
    const start = performance.now();
    relays[from]?.fail();
    await other;
    const moved = performance.now() - start;
    await client.close();
    // A newer version ends what the proxy holds of the relay.
    await middle.state(true);
    const begun = performance.now();
    const direct = new BenchClient(await connectTo(uris[from] as string, certificate.hashHex));
    const first = groupFrom(direct, from);
    await direct.subscribe("f");
    await first;
    const fresh = performance.now() - begun;
    await direct.close();
    if (round < 0) continue;
    times.moved.push(moved);
    times.fresh.push(fresh);
  }
  middle.stop();
  for (const relay of relays) await relay.close();
  const [moved, fresh] = [median(times.moved), median(times.fresh)];
  return {
    what: "from the failure of a relay to the first object from another, against a new subscriber there",
    ratio: moved / fresh,
    ...informs,
    detail: `${moved.toFixed(1)} ms, connecting and subscribing ${fresh.toFixed(1)} ms`,
  };
}

const certificate = await developmentCertificate();
const relay = await BenchRelay.start(certificate);
const relays = { uris: [relay.uri], certificateHash: certificate.hashHex };
const middles = [await Middle.start("pump", relays), await Middle.start("proxy", relays)] as const;
const rows = [
  ...(await throughput(relay, middles)),
  ...(await latency(relay, middles)),
  ...(await memory(relay, relays)),
  await failover(certificate),
];
for (const middle of middles) middle.stop();
console.log(
  JSON.stringify(rows.map((row) => ({ area: `Proxy mode, ${stackName("quiche")}`, ...row }))),
);
// Connections that are still open would keep the process alive.
process.exit(0);

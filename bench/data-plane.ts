/**
 * What the data plane of proxy mode costs over real QUIC, on quiche: streams of a publisher through
 * it to a subscriber, against a bare pump of the same streams in its place. Each is a process of its
 * own; both ends are here, and the same for both.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { concatBytes, fromHex } from "../src/bytes.ts";
import { connectQuic } from "../src/quic/mod.ts";
import { quicTransport } from "../src/transport/quic.ts";
import type { Transport } from "../src/transport/transport.ts";
import type { DataPlaneServerAddress } from "./data-plane-server.ts";
import { median } from "./pair.ts";
import type { Row } from "./row.ts";

const emptySetup = Uint8Array.of(0xaf, 0x00, 0x00, 0x00);

/** SUBGROUP_HEADER with alias 5, and the start of the first object. */
const header = Uint8Array.of(0x14, 5, 0, 0, 0x80, 0);

/** What is sent: so many streams at once or one after another, so many bytes in each. */
interface Load {
  readonly streams: number;
  readonly writes: number;
  readonly chunk: Uint8Array;
}

const smallObject = concatBytes(header, Uint8Array.of(100), new Uint8Array(100));
const smallObjects: Load = { streams: 2000, writes: 1, chunk: smallObject };
const largeChunk = new Uint8Array(0x1_0000);
largeChunk.set(concatBytes(header, Uint8Array.of(0xf0, 0x7f, 0xff, 0xff, 0xff)));
const largeObjects: Load = { streams: 4, writes: 64, chunk: largeChunk };

/** A server with a publisher and a subscriber that are connected to it. */
class Bed {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #publisher: Transport;
  readonly #subscriber: Transport;
  /** Kept, since streams that nobody holds may be ended. */
  readonly #controls: unknown[];

  private constructor(
    child: ChildProcess,
    lines: AsyncIterator<string>,
    publisher: Transport,
    subscriber: Transport,
    controls: unknown[],
  ) {
    this.#child = child;
    this.#lines = lines;
    this.#publisher = publisher;
    this.#subscriber = subscriber;
    this.#controls = controls;
  }

  static async start(kind: "bare" | "plane"): Promise<Bed> {
    const script = join(import.meta.dirname, "data-plane-server.ts");
    const flags = "Deno" in globalThis ? ["run", "-A", "--quiet", "--no-check"] : [];
    const child = spawn(process.execPath, [...flags, script, kind], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const address = JSON.parse(String((await lines.next()).value)) as DataPlaneServerAddress;
    const ends: Transport[] = [];
    const controls: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const connection = await connectQuic({
        hostname: "127.0.0.1",
        port: address.port,
        alpn: ["moqt-22"],
        certificateHashes: [fromHex(address.certificateHash) as Uint8Array],
        backend: "quiche",
      });
      const transport = quicTransport(connection);
      const control = await transport.openUni();
      await control.write(emptySetup);
      controls.push(control);
      ends.push(transport);
    }
    const [publisher, subscriber] = ends as [Transport, Transport];
    if (kind === "plane") controls.push(await publisher.accept(), await subscriber.accept());
    return new Bed(child, lines, publisher, subscriber, controls);
  }

  /** Seconds that a load takes, and processor seconds of the server for it. */
  async run(load: Load): Promise<{ readonly wall: number; readonly processor: number }> {
    const before = await this.#processorTime();
    const start = performance.now();
    await Promise.all([this.#publish(load), this.#receive(load)]);
    const wall = (performance.now() - start) / 1000;
    return { wall, processor: (await this.#processorTime()) - before };
  }

  async #processorTime(): Promise<number> {
    this.#child.stdin?.write("\n");
    return Number((await this.#lines.next()).value) / 1e6;
  }

  async #publish({ streams, writes, chunk }: Load): Promise<void> {
    const one = async () => {
      const stream = await this.#publisher.openUni();
      for (let i = 1; i < writes; i++) await stream.write(chunk);
      await stream.write(chunk, true);
    };
    await Promise.all(Array.from({ length: streams }, one));
  }

  async #receive({ streams }: Load): Promise<void> {
    const reading: Promise<void>[] = [];
    while (reading.length < streams) {
      const stream = await this.#subscriber.accept();
      if (stream === null) throw new Error("the subscriber's session has ended");
      reading.push(
        (async () => {
          while ((await stream.read()) !== null);
        })(),
      );
    }
    await Promise.all(reading);
  }

  stop(): void {
    this.#controls.length = 0;
    this.#publisher.close(0n, "");
    this.#subscriber.close(0n, "");
    this.#child.stdin?.end();
  }
}

interface Measured {
  /** Streams or bytes a second through the plane over those through the bare pump. */
  readonly ratio: number;
  readonly bare: number;
  readonly plane: number;
  /** Processor time of the bare pump over that of the plane. */
  readonly processor: number;
}

async function compare(bare: Bed, plane: Bed, load: Load, rounds = 9): Promise<Measured> {
  const walls = { bare: [] as number[], plane: [] as number[], ratio: [] as number[] };
  const processors: number[] = [];
  await bare.run(load);
  await plane.run(load);
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? bare : plane;
    const a = await first.run(load);
    const b = await (first === bare ? plane : bare).run(load);
    const [ofBare, ofPlane] = first === bare ? [a, b] : [b, a];
    walls.bare.push(ofBare.wall);
    walls.plane.push(ofPlane.wall);
    walls.ratio.push(ofBare.wall / ofPlane.wall);
    processors.push(ofBare.processor / ofPlane.processor);
  }
  return {
    ratio: median(walls.ratio),
    bare: median(walls.bare),
    plane: median(walls.plane),
    processor: median(processors),
  };
}

export async function dataPlane(): Promise<Row[]> {
  const bare = await Bed.start("bare");
  const plane = await Bed.start("plane");
  const loads: [what: string, load: Load, unit: string, amount: number][] = [
    ["small objects, a stream each", smallObjects, "objects/s", smallObjects.streams],
    [
      "large objects",
      largeObjects,
      "MB/s",
      (largeObjects.streams * largeObjects.writes * largeChunk.length) / 1e6,
    ],
  ];
  const rows: Row[] = [];
  for (const [name, load, unit, amount] of loads) {
    const measured = await compare(bare, plane, load);
    const rate = (seconds: number) => `${(amount / seconds).toFixed(0)} ${unit}`;
    rows.push({
      what: `Data plane over raw QUIC (quiche), ${name}`,
      ratio: measured.ratio,
      budget: "at least 0.7 of a bare pump",
      met: measured.ratio >= 0.7,
      detail: `${rate(measured.plane)}, bare ${rate(measured.bare)}; processor time ${measured.processor.toFixed(2)}`,
    });
  }
  bare.stop();
  plane.stop();
  return rows;
}

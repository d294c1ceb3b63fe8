/** How frames get to a socket on Bun, where each write costs a TLS record and a system call. */

import { expect, test } from "bun:test";
import { Duplex } from "node:stream";
import { GatheredWrites } from "../../src/http2/gathered-writes.ts";

/** A socket that keeps the size of each write that reaches the system. */
function socket(highWaterMark = 16_384) {
  const sizes: number[] = [];
  const waiting: (() => void)[] = [];
  const take = (size: number, done: () => void) => {
    sizes.push(size);
    waiting.push(done);
  };
  const duplex = new Duplex({
    highWaterMark,
    read() {},
    write: (chunk, _encoding, done) => take(chunk.length, done),
    writev: (chunks, done) =>
      take(
        chunks.reduce((sum, { chunk }) => sum + chunk.length, 0),
        done,
      ),
  });
  return { duplex, sizes, goOn: () => waiting.shift()?.() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const octets = (length: number) => new Uint8Array(length);

test("small frames of one turn are one write, and those of the next another", async () => {
  const { duplex, sizes, goOn } = socket();
  const writes = new GatheredWrites(duplex);
  for (const length of [9, 100, 40]) expect(writes.write(octets(length))).toBe(true);
  expect(sizes).toEqual([]);
  await turn();
  expect(sizes).toEqual([149]);
  goOn();
  writes.write(octets(30));
  await turn();
  expect(sizes).toEqual([149, 30]);
});

test("a large frame waits for nobody, and goes behind what was written before it", () => {
  const { duplex, sizes, goOn } = socket();
  const writes = new GatheredWrites(duplex);
  writes.write(octets(9));
  writes.write(octets(5000));
  expect(sizes).toEqual([9]);
  goOn();
  expect(sizes).toEqual([9, 5000]);
});

test("a socket that has enough says so at once, and has been given all", () => {
  const { duplex, sizes } = socket(200);
  const writes = new GatheredWrites(duplex);
  expect(writes.write(octets(150))).toBe(true);
  expect(writes.write(octets(150))).toBe(false);
  expect(sizes).toEqual([300]);
});

test("what is gathered goes before the socket ends", () => {
  const { duplex, sizes } = socket();
  const writes = new GatheredWrites(duplex);
  writes.write(octets(9));
  writes.flush();
  duplex.end();
  expect(sizes).toEqual([9]);
});

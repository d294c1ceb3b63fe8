/**
 * Loading snapshots grows with their size and no faster: ten times the routes take at most ten
 * times as long.
 */

import {
  exportPublicKey,
  generateSigningKey,
  parseSnapshot,
  signSnapshot,
} from "../src/snapshot/mod.ts";
import { median } from "./pair.ts";
import type { Row } from "./row.ts";
import type { Load } from "./snapshot-load.ts";

const RELAYS = 1000;
const FEW = 10_000;
const MANY = 100_000;
const ROUNDS = 5;

/** A table in which each tenant has a route of three relays. */
function tableOf(routes: number): unknown {
  const rid = (i: number) => `relay-${i % RELAYS}`;
  return {
    version: 1,
    relays: Array.from({ length: RELAYS }, (_, i) => ({
      rid: rid(i),
      uri: `https://r${i}.example/moq`,
      health: "healthy",
    })),
    routes: Array.from({ length: routes }, (_, i) => ({
      prefix: ["example.com", `tenant-${i}`],
      kind: "hashed",
      key_fields: 3,
      rids: [rid(i), rid(i + 1), { rid: rid(i + 2), weight: 3 }],
    })),
  };
}

/** Milliseconds that a fresh Worker takes for `job`. */
async function timeOf(job: Load): Promise<number> {
  const worker = new Worker(new URL("./snapshot-load.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise<number>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(job);
    });
  } finally {
    worker.terminate();
  }
}

/** One line: few routes against many, in turn so that a busy machine slows down both. */
async function compare(what: string, few: Load, many: Load, size: string): Promise<Row> {
  const times: { few: number[]; many: number[] } = { few: [], many: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.few.push(await timeOf(few));
    times.many.push(await timeOf(many));
  }
  const ratio = median(times.many) / median(times.few);
  const detail = `${median(times.few).toFixed(0)} ms, ${median(times.many).toFixed(0)} ms, ${size}`;
  return { what, ratio, budget: "at most 10 x", met: ratio <= 10, detail };
}

/** The rows of this room: an envelope verified, decoded and validated, and a JSON text read. */
export async function snapshot(): Promise<Row[]> {
  const key = await generateSigningKey();
  const trustedKey = await exportPublicKey(key);
  const now = Date.now();
  const envelopeOf = async (routes: number): Promise<Load & { envelope: Uint8Array }> => {
    const snapshot = parseSnapshot(tableOf(routes));
    return { envelope: await signSnapshot(snapshot, key, { issuedAt: now }), trustedKey, now };
  };
  const mib = (length: number) => `${(length / 2 ** 20).toFixed(1)} MiB`;
  const [few, many] = [await envelopeOf(FEW), await envelopeOf(MANY)];
  const [fewText, manyText] = [JSON.stringify(tableOf(FEW)), JSON.stringify(tableOf(MANY))];
  const versus = `${RELAYS} relays, ${MANY} routes against ${FEW}`;
  return [
    await compare(
      `loading an envelope, ${versus}`,
      few,
      many,
      `${mib(few.envelope.length)} and ${mib(many.envelope.length)}`,
    ),
    await compare(
      `reading JSON, ${versus}`,
      { text: fewText },
      { text: manyText },
      `${mib(fewText.length)} and ${mib(manyText.length)}`,
    ),
  ];
}

/**
 * The Worker of bench/snapshot.ts: loads one snapshot in a runtime that has loaded none before, as
 * an instance does when it starts.
 */

import { importTrustedKeys, parseSnapshot, verifySnapshot } from "../src/snapshot/mod.ts";

/** What to load: an envelope and whose signature counts, or a JSON text. */
export type Load =
  | { readonly envelope: Uint8Array; readonly trustedKey: unknown; readonly now: number }
  | { readonly text: string };

async function load(job: Load): Promise<void> {
  if ("text" in job) parseSnapshot(job.text);
  else await verifySnapshot(job.envelope, await importTrustedKeys(job.trustedKey), job);
}

addEventListener("message", async ({ data }: MessageEvent<Load>) => {
  const start = performance.now();
  await load(data);
  postMessage(performance.now() - start);
});

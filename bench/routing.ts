/** What placing a request costs: again under one snapshot, and among more and more routes. */

import { utf8 } from "../src/bytes.ts";
import type { RoutableRequest } from "../src/moqt/mod.ts";
import { matchRoute, placeRequest, routingTable } from "../src/routing/mod.ts";
import { parseSnapshot, type Route, type Snapshot } from "../src/snapshot/mod.ts";
import { median, pair } from "./pair.ts";
import type { Row } from "./row.ts";

function subscribe(...namespace: string[]): RoutableRequest {
  return {
    type: "SUBSCRIBE",
    requestId: 0n,
    trackNamespace: namespace.map(utf8),
    trackName: utf8("video"),
    parameters: [],
  };
}

function snapshotOf(relays: number, routes: (rids: string[]) => object[]): Snapshot {
  const rids = Array.from({ length: relays }, (_, i) => `relay-${i}`);
  return parseSnapshot({
    version: 1,
    relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/moq`, health: "healthy" })),
    routes: routes(rids),
  });
}

/** Placing namespaces seen before, against namespaces never seen. */
function samePlacementAgain(relays: number): Row {
  const snapshot = snapshotOf(relays, (rids) => [
    { prefix: ["example.com"], kind: "hashed", rids },
  ]);
  const active = { snapshot, signedAt: 0, maximumAge: 1000, digest: "" };
  const options = { ownServiceUris: ["https://lb.example/moq"] };
  const place = (request: RoutableRequest) => placeRequest(request, active, 0, options);
  const known = Array.from({ length: 64 }, (_, i) => subscribe("example.com", `m${i}`, "alice"));
  const repeats = 100;

  let made = 0;
  const ratios: number[] = [];
  const times: [fresh: number[], again: number[]] = [[], []];
  for (let round = 0; round < 60; round++) {
    const unseen = known.map(() => subscribe("example.com", `fresh-${made++}`, "alice"));
    const start = performance.now();
    for (const request of unseen) place(request);
    const freshEnd = performance.now();
    // What the unseen ones pushed out of the cache is back before the clock starts.
    for (const request of known) place(request);
    const againStart = performance.now();
    for (let i = 0; i < repeats; i++) for (const request of known) place(request);
    const again = (performance.now() - againStart) / repeats / known.length;
    const fresh = (freshEnd - start) / unseen.length;
    times[0].push(fresh);
    times[1].push(again);
    ratios.push(again / fresh);
  }
  const ratio = median(ratios);
  const [fresh, again] = times.map((all) => (median(all) * 1e6).toFixed(0));
  return {
    what: `the same placement again, ${relays} relays`,
    ratio,
    budget: "at most 1/20 of a fresh one",
    met: ratio <= 1 / 20,
    detail: `${again} ns, fresh ${fresh} ns`,
  };
}

/** Matching the same number of names, all of three fields, in tables of `routes` routes. */
function matching(routes: number): () => void {
  const side = Math.ceil(Math.sqrt(routes));
  const snapshot = snapshotOf(1, ([rid]) =>
    Array.from({ length: routes }, (_, i) => ({
      prefix: [`tenant-${i % side}`, `event-${Math.floor(i / side)}`],
      kind: "static",
      rid,
    })),
  );
  const table = routingTable(snapshot);
  const names = Array.from({ length: 10 }, (_, i) => {
    const { prefix } = snapshot.routes[Math.floor((i * routes) / 10)] as Route;
    return [...prefix.map((field) => field.slice()), utf8("camera-1")];
  });
  let next = 0;
  return () => {
    matchRoute(table, names[next++ % names.length] as Uint8Array[]);
  };
}

/** A factor of routes may cost a little for the machine's caches, but nothing like the factor. */
function moreRoutes(routes: number): Row {
  const bound = 3;
  const { ratio, base, subject } = pair(matching(10), matching(routes));
  return {
    what: `prefix match, ${routes.toLocaleString("en")} routes against 10`,
    ratio,
    budget: `at most ${bound} x for ${(routes / 10).toLocaleString("en")} x the routes`,
    met: ratio <= bound,
    detail: `${subject.toFixed(0)} ns, with 10 routes ${base.toFixed(0)} ns`,
  };
}

/** Rows for the decision cache and for the prefix match at 1,000 and 100,000 routes. */
export async function routing(): Promise<Row[]> {
  return [samePlacementAgain(3), samePlacementAgain(16), moreRoutes(1000), moreRoutes(100_000)];
}

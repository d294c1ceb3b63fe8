/**
 * What the agent's status page costs with 200 relays and 200 instances: gathering the state and
 * rendering it, against making the JSON of the same state. Shares of keys are measured before, as
 * they are once for each version.
 */

import { StatusPage } from "../src/agent/http/pages/status-page.tsx";
import type { AgentPort, CollectorPort } from "../src/agent/http/ports.ts";
import { ShareMeter } from "../src/agent/http/shares.ts";
import { statusOf } from "../src/agent/http/status.ts";
import { simulate } from "../src/agent/simulate.ts";
import { utf8 } from "../src/bytes.ts";
import { parseSnapshot, type Snapshot } from "../src/snapshot/mod.ts";
import { median } from "./pair.ts";
import type { Row } from "./row.ts";

const size = 200;
const now = 1_782_907_200_000;
/** Milliseconds: a page that an operator waits for should come within a moment. */
const longest = 100;

function pool(): Snapshot {
  const rids = Array.from({ length: size }, (_, i) => `relay-${i}`);
  return parseSnapshot({
    version: 7,
    relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/moq`, health: "healthy" })),
    routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids }],
  });
}

function agentOf(snapshot: Snapshot): AgentPort {
  const digest = "00".repeat(32);
  const unused = async () => {
    throw new Error("nothing is published here");
  };
  return {
    role: "publishing",
    holder: undefined,
    current: {
      version: 7,
      digest,
      kid: "agent",
      signedAt: now - 12_000,
      envelope: utf8(""),
      snapshot,
      cause: "publish",
      since: 7,
    },
    relays: snapshot.relays.map(({ rid, uri, health }) => ({
      rid,
      uri,
      health,
      intent: "healthy",
      drained: false,
      heldByCap: false,
      probe: { verdict: "up", streak: 100, at: now - 3000, duration: 40, flaps: 0 },
    })),
    refusals: [],
    alarms: [],
    publish: unused,
    act: unused,
    submit: unused,
    history: async () => [],
    snapshotAt: async () => undefined,
    onChange: () => () => {},
  };
}

const views: ReturnType<CollectorPort["instances"]> = Array.from({ length: size }, (_, i) => {
  const instanceId = `edge-${i}`;
  return {
    id: instanceId,
    receivedAt: now - 2000,
    behind: i % 20 === 0 ? 1 : 0,
    ahead: 0,
    differs: false,
    silent: false,
    never: false,
    report: {
      instanceId,
      sequence: 100,
      at: now - 2000,
      startedAt: now - 86_400_000,
      activeVersion: 7,
      ageSeconds: 10,
      mode: "redirect",
      stale: false,
      health: [],
      decisions: { REDIRECT: 48_000, DOES_NOT_EXIST: 12 },
      sessions: 300,
    },
  };
});

const collector: CollectorPort = {
  accept: async () => {
    throw new Error("no reports come here");
  },
  instances: () => views,
  alarms: () => [],
};

/** Rows for the status page. */
export async function agentPage(): Promise<Row[]> {
  const snapshot = pool();
  const agent = agentOf(snapshot);
  const meter = new ShareMeter(simulate, (error) => {
    throw error;
  });
  const shares = await meter.of({ since: 7, snapshot });
  const operator = {
    name: "alice",
    roles: ["routes"],
    kid: "alice",
    key: {} as CryptoKey,
  } as const;
  const viewer = { operator, csrf: "0".repeat(64) };
  const gather = () => statusOf(agent, collector, shares, now);
  const render = () =>
    `${StatusPage({ viewer, status: gather(), history: [], maximumAge: 600_000 })}`;
  const times: [page: number, json: number][] = [];
  let characters = 0;
  for (let round = -20; round < 60; round++) {
    const start = performance.now();
    characters = render().length;
    const middle = performance.now();
    JSON.stringify(gather());
    const end = performance.now();
    // The first rounds are for the compilers.
    if (round >= 0) times.push([middle - start, end - middle]);
  }
  const page = median(times.map(([rendering]) => rendering));
  const ratio = median(times.map(([rendering, json]) => rendering / json));
  return [
    {
      what: `status page, ${size} relays and ${size} instances, against the JSON of both`,
      ratio,
      budget: `none as a ratio; within ${longest} ms`,
      met: page <= longest,
      detail: `${page.toFixed(1)} ms, ${Math.round(characters / 1024)} KiB`,
    },
  ];
}

import { expect, test } from "bun:test";
import type { InstanceStatus, RelayStatus, Status } from "../../src/agent/http/status.ts";
import { statusLines } from "../../src/cli/status-lines.ts";
import { styleFor } from "../../src/cli/terminal.ts";

const now = Date.UTC(2026, 10, 5, 12);

const relay: RelayStatus = {
  rid: "7231",
  name: "r1",
  uri: "https://r1.example/moq",
  health: "healthy",
  intent: "healthy",
  drained: false,
  override: null,
  heldByCap: false,
  probe: { verdict: "up", streak: 5, at: now, duration: 12.4, flaps: 0 },
  hint: null,
  weights: [1],
  hashedRoutes: 1,
  staticRoutes: 0,
  share: 0.34,
  expectedShare: 1 / 3,
};

const instance: InstanceStatus = {
  id: "edge-1",
  state: "current",
  version: 7,
  behind: 0,
  behindSince: null,
  silentSince: null,
  reportedAt: now - 2_000,
  startedAt: now - 60_000,
  ageSeconds: 12,
  stale: false,
  mode: "redirect",
  sessions: 3,
  decisions: {},
  localHealth: 0,
  refused: null,
};

const status: Status = {
  role: "publishing",
  now,
  current: {
    version: 7,
    digest: "00",
    kid: "k",
    signedAt: now - 12_000,
    ageSeconds: 12,
    since: 5,
    cause: "republish",
  },
  measured: { keys: 10_000, since: 4 },
  routes: { hashed: 2, static: 1 },
  relays: [
    relay,
    {
      ...relay,
      rid: "ff00",
      health: "unhealthy",
      uri: "https://r2.example/moq",
      probe: { verdict: "down", streak: -3, at: now, fault: "TIMEOUT", flaps: 1 },
      weights: [1, 2, 4, 8],
      share: 0,
    },
    {
      ...relay,
      rid: "7233",
      uri: "https://r3.example/\u001b[31m",
      intent: "draining",
      drained: true,
      override: "healthy",
      heldByCap: true,
      probe: null,
      hint: { state: "draining", until: now, instances: 2 },
      weights: [],
      share: null,
      expectedShare: null,
    },
  ],
  instances: [
    instance,
    {
      ...instance,
      id: "edge-2",
      state: "behind",
      version: 5,
      behind: 2,
      behindSince: now - 90_000,
    },
    { ...instance, id: "edge-3", state: "silent", silentSince: now - 7_200_000, stale: true },
    { ...instance, id: "edge-4", state: "differs", refused: "REPLAYED" },
  ],
  alarms: [
    { code: "INSTANCE_BEHIND", message: "behind the current version: edge-2", since: now - 60_000 },
    { code: "PROBE_CAP", message: "check\u0007 them", since: null },
  ],
};

test("a status shows skew, alarms and every reason of a relay's health, safe to print [LB-CONF-25]", () => {
  const lines = statusLines(
    status,
    { where: "https://agent.example", live: true },
    styleFor(false, {}),
  );
  expect(lines.join("\n")).toBe(`agent    publishing, at https://agent.example
version  7 (republish), the same since version 5
signed   2026-11-05 11:59:48 UTC, 12 s ago
routes   2 hashed, 1 static
relays   3: 2 healthy, 1 unhealthy
shares   measured with 10000 keys of version 4

ALARM INSTANCE_BEHIND since 2026-11-05 11:59:00 UTC: behind the current version: edge-2
ALARM PROBE_CAP: check\\u{7} them

RELAY   HEALTH     WEIGHT  SHARE   EXPECTED  PROBE         URI                            WHY
r1      healthy    1       34.0 %  33.3 %    up 12 ms      https://r1.example/moq
.ff.00  unhealthy  1..8    0.0 %   33.3 %    down TIMEOUT  https://r2.example/moq         probes fail
r3      healthy    -       -       -         -             https://r3.example/\\u{1b}[31m  fixed healthy by an operator; drained by an operator; draining in the pool; fails, kept in by the cap; draining for 2 of the instances

   INSTANCE  STATE                              VERSION  AGE   REPORTED  MODE      SESSIONS
   edge-1    current                            7        12 s  2 s ago   redirect  3
!  edge-2    behind 2, for 1 min                5        12 s  2 s ago   redirect  3
!  edge-3    silent, for 2 h, stale             7        12 s  2 s ago   redirect  3
!  edge-4    differs, report refused: REPLAYED  7        12 s  2 s ago   redirect  3`);
});

test("a status without anything published says so", () => {
  const nothing: Status = {
    ...status,
    current: null,
    measured: null,
    relays: [],
    instances: [],
    alarms: [],
  };
  const lines = statusLines(nothing, { where: ".yardmaster", live: false }, styleFor(false, {}));
  expect(lines).toEqual([
    "store    .yardmaster, read without an agent",
    "version  none yet; an agent with another store is reached by --agent URL",
  ]);
  const live = statusLines(
    nothing,
    { where: "https://a.example", live: true },
    styleFor(false, {}),
  );
  expect(live[1]).toBe("version  none yet");
});

test("a status shortens names and addresses to what there is room for", () => {
  const long: Status = {
    ...status,
    relays: [
      { ...relay, rid: "61".repeat(100), uri: `https://r1.example/${"b".repeat(200)}/end` },
      relay,
    ],
    instances: [],
    alarms: [],
  };
  const source = { where: "x", live: true };
  const rows = (width?: number) => statusLines(long, source, styleFor(false, {}), width).slice(-2);
  expect(rows()).toEqual([
    `${"a".repeat(38)}...${"a".repeat(19)}  healthy  1       34.0 %  33.3 %    up 12 ms  https://r1.example/${"b".repeat(33)}...${"b".repeat(21)}/end`,
    `${"r1".padEnd(60)}  healthy  1       34.0 %  33.3 %    up 12 ms  https://r1.example/moq`,
  ]);
  // 120 characters: 48 for the other columns and 2 between all, 24 for names, 48 for addresses.
  const [first = "", second = ""] = rows(120);
  expect(first).toHaveLength(120);
  expect(second.indexOf("healthy")).toBe(first.indexOf("healthy"));
  expect(first).toMatch(/^a+\.\.\.a+ {2}healthy .* https:\/\/r1\.example\/b+\.\.\.b+\/end$/);
  expect(rows(10)[0]).toMatch(/^a{9}\.\.\.a{4} .* .{14}\.\.\.b{3}\/end$/);
});

test("a status marks what is not as it should be in colour on a terminal", () => {
  const text = statusLines(status, { where: "x", live: true }, styleFor(true, {})).join("\n");
  expect(text).toContain("\u001b[31munhealthy\u001b[39m");
  expect(text).toContain("\u001b[33mbehind 2, for 1 min\u001b[39m");
  expect(text).toContain("\u001b[31mALARM INSTANCE_BEHIND\u001b[39m");
  expect(text).toContain("\u001b[32mhealthy\u001b[39m ");
});

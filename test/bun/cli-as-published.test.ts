import { expect, test } from "bun:test";
import type { RelayStatus } from "../../src/agent/http/status.ts";
import { toHex, utf8 } from "../../src/bytes.ts";
import { asPublished } from "../../src/cli/as-published.ts";
import { type Health, parseSnapshot } from "../../src/snapshot/mod.ts";

const healthy: Omit<RelayStatus, "rid"> = {
  name: "",
  uri: "https://r.example/moq",
  health: "healthy",
  intent: "healthy",
  drained: false,
  override: null,
  heldByCap: false,
  probe: null,
  hint: null,
  weights: [1],
  hashedRoutes: 1,
  staticRoutes: 0,
  share: null,
  expectedShare: null,
};

const hint = { state: "draining", until: 0, instances: 1 } as const;

test("a pool has the health that the agent would publish it with [LB-HEALTH-2]", () => {
  const cases: [intent: Health, state: Partial<RelayStatus> | undefined, expected: Health][] = [
    ["healthy", undefined, "healthy"],
    ["draining", undefined, "draining"],
    ["healthy", {}, "healthy"],
    ["healthy", { health: "draining", intent: "draining" }, "healthy"],
    ["healthy", { health: "unhealthy", intent: "unhealthy" }, "healthy"],
    ["healthy", { health: "draining", drained: true }, "draining"],
    ["unhealthy", { health: "draining", drained: true }, "unhealthy"],
    ["draining", { health: "unhealthy" }, "unhealthy"],
    ["healthy", { health: "draining", hint }, "draining"],
    ["unhealthy", { override: "healthy" }, "healthy"],
    ["healthy", { override: "unhealthy", health: "unhealthy" }, "unhealthy"],
  ];
  const pool = parseSnapshot({
    version: 1,
    relays: cases.map(([health], i) => ({ rid: `r${i}`, uri: `https://r${i}.example/`, health })),
    routes: [],
  });
  const relays = cases.flatMap(([, state], i): RelayStatus[] =>
    state === undefined ? [] : [{ ...healthy, ...state, rid: toHex(utf8(`r${i}`)) }],
  );
  expect(asPublished(pool, { relays }).relays.map(({ health }) => health)).toEqual(
    cases.map(([, , expected]) => expected),
  );
});

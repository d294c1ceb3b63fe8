/** What the ports of an instance do with time, numbers and their own end, on any stack. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { carriers, type OpenPorts, openPorts, type PortsOptions } from "./ports.ts";

export function listenerScenarios(backend: "deno" | "quiche"): void {
  const scenario = (
    name: string,
    options: Omit<PortsOptions, "backend">,
    body: (ports: OpenPorts) => Promise<void>,
  ) => {
    test(name, async () => {
      const ports = await openPorts({ ...options, backend });
      try {
        await body(ports);
      } finally {
        await ports.close();
      }
    });
  };
  describe(`ports of an instance with ${backend}`, () => {
    time(scenario);
  });
}

type Scenario = (
  name: string,
  options: Omit<PortsOptions, "backend">,
  body: (ports: OpenPorts) => Promise<void>,
) => void;

function time(scenario: Scenario): void {
  scenario(
    "a silent session lives as long as its idle time, then ends with NO_ERROR [LB-REDIR-17]",
    { silence: 900, limits: { idleTimeout: 2500 } },
    async (ports) => {
      await Promise.all(
        carriers.map(async (carrier) => {
          // Its own patience would end before: the server has to ask for signs of life.
          const peer = new RawPeer(await ports.connect(carrier, { idleTimeout: 900 }));
          await peer.setup();
          await peer.refusal(requestBytes("SUBSCRIBE", "live--v"));
          const begun = performance.now();
          const { reason } = await peer.closedWith("NO_ERROR");
          assert.equal(reason, "idle", carrier);
          assert.ok(performance.now() - begun > 2000, carrier);
        }),
      );
    },
  );
}

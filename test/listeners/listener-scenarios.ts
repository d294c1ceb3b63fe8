/** What the ports of an instance do with time, numbers and their own end, on any stack. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { sessionErrorCodes } from "../../src/moqt/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { statusOverHttp2, tcpClient, tlsClient } from "./connections.ts";
import { type Carrier, carriers, type OpenPorts, openPorts, type PortsOptions } from "./ports.ts";

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
    numbers(scenario);
    ends(scenario);
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

  scenario(
    "a connection over TCP that never has a session ends after the set-up time",
    { limits: { setupTimeout: 600 } },
    async (ports) => {
      const { tcpPort } = ports;
      const clients = await Promise.all([
        tcpClient(tcpPort),
        tlsClient(tcpPort, "silent"),
        tlsClient(tcpPort, "preface"),
        tlsClient(tcpPort, "http/1.1"),
      ]);
      const begun = performance.now();
      await Promise.all(clients.map(({ closed }) => closed));
      assert.ok(performance.now() - begun < 3000);
    },
  );

  scenario(
    "a connection over TCP lasts as long as its session",
    { limits: { setupTimeout: 600 } },
    async (ports) => {
      const session = await served(ports, "HTTP/2");
      await new Promise((resolve) => setTimeout(resolve, 1500));
      const again = requestBytes("SUBSCRIBE", "live--v", { requestId: 2n });
      await new RawPeer(session).refusal(again);
      session.close(0n, "");
      await session.closed;
    },
  );
}

function numbers(scenario: Scenario): void {
  for (const carrier of carriers) {
    for (const [limit, status] of [
      ["maximumSessions", 503],
      ["maximumSessionsPerClient", 429],
    ] as const) {
      scenario(
        `a session over ${carrier} beyond ${limit} is told so`,
        { limits: { [limit]: 2 } },
        async (ports) => {
          const sessions = [await served(ports, carrier), await served(ports, carrier)];
          if (carrier === "raw QUIC") {
            const { code } = await (await ports.connect(carrier)).closed;
            assert.equal(code, sessionErrorCodes.INTERNAL_ERROR);
          } else if (carrier === "HTTP/3") {
            const refused = ports.connect(carrier);
            await assert.rejects(refused, (error: { status?: number }) => error.status === status);
          } else assert.equal(await statusOverHttp2(ports.tcpPort), status);
          for (const session of sessions) session.close(0n, "");
          await Promise.all(sessions.map(({ closed }) => closed));
        },
      );
    }
  }

  scenario(
    "one address gets a bounded number of connections over TCP",
    { limits: { maximumSessionsPerClient: 1 } },
    async ({ tcpPort, log }) => {
      const clients = await Promise.all(Array.from({ length: 100 }, () => tcpClient(tcpPort)));
      let open = clients.length;
      for (const { closed } of clients) void closed.then(() => open--);
      while (open > 65) await new Promise((resolve) => setTimeout(resolve, 20));
      for (const client of clients) client.destroy();
      await Promise.all(clients.map(({ closed }) => closed));
      while (!log.some((line) => line.includes('"tcp-refused"'))) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  );
}

async function served(ports: OpenPorts, carrier: Carrier): Promise<Transport> {
  const peer = new RawPeer(await ports.connect(carrier));
  await peer.setup();
  await peer.refusal(requestBytes("SUBSCRIBE", "live--v"));
  return peer.transport;
}

function ends(scenario: Scenario): void {
  scenario("clients that say and read nothing do not hold up the end", {}, async (ports) => {
    const clients = [
      await tcpClient(ports.tcpPort),
      await tlsClient(ports.tcpPort, "silent"),
      await tlsClient(ports.tcpPort, "paused"),
    ];
    const begun = performance.now();
    await ports.close();
    assert.ok(performance.now() - begun < 2500);
    for (const client of clients) client.destroy();
  });

  scenario("an HTTP/3 connection ends with H3_NO_ERROR", {}, async (ports) => {
    const connection = await ports.connectQuic("h3");
    await connection.accept();
    await ports.close();
    const { by, app, code } = await connection.closed;
    assert.deepEqual({ by, app, code }, { by: "remote", app: true, code: 0x100n });
  });
}

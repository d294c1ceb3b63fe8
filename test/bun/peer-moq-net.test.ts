/**
 * @moq/net, which nobody here wrote, as client of a balancer in redirect mode, over raw QUIC and
 * over QMux, in each draft that both speak. It does not know REDIRECT: it reports an error and keeps
 * its session, which is all that can be had from a client that cannot be redirected.
 */

import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  spyOn,
  test,
} from "bun:test";
import { Broadcast, Connection, Path } from "@moq/net";
import type { DecisionEvent } from "../../src/moq-lb/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { Balancer } from "../support/balancer.ts";
import { webTransportOver } from "../support/web-transport.ts";

/** What it says of a REQUEST_ERROR that it cannot read: a Redirect is more than it expects. */
const unreadable = "SUBSCRIBE error: unknown error";

const url = new URL("https://127.0.0.1/moqt");
const live = Path.from("live");

const decisions: DecisionEvent[] = [];
let balancer: Balancer;
const muted: { mockRestore(): void }[] = [];
let warnings: ReturnType<typeof spyOn<Console, "warn">>;

beforeAll(async () => {
  balancer = await Balancer.start({ onDecision: (event) => decisions.push(event) });
});

afterAll(() => balancer.close());

beforeEach(async () => {
  await balancer.empty();
  decisions.length = 0;
  balancer.events.length = 0;
  warnings = spyOn(console, "warn").mockImplementation(() => {});
  muted.push(
    warnings,
    spyOn(console, "debug").mockImplementation(() => {}),
  );
});

afterEach(() => {
  for (const spy of muted.splice(0)) spy.mockRestore();
});

/** What a subscription to a track of `path` ends with. */
async function refusal(connection: Connection.Established, track: string, path = live) {
  const broadcast = connection.consume(path);
  const error = await broadcast.subscribe(track).closed;
  broadcast.close();
  return error?.message;
}

/** Whether neither end has closed the session, by what happened up to now. */
async function isOpen(transport: Transport): Promise<boolean> {
  const closed = transport.closed.then(() => false);
  const types = balancer.events.map(({ type }) => type);
  return (await Promise.race([closed, Promise.resolve(true)])) && !types.includes("closed");
}

const transports = [
  ["raw QUIC", (protocol: string) => balancer.connectQuic(protocol)],
  ["QMux", (protocol: string) => balancer.connectQmux(protocol)],
] as const;

for (const [name, dial] of transports) {
  for (const draft of [18, 19, 20]) {
    describe(`@moq/net over ${name}, draft ${draft}`, () => {
      test("reports REDIRECT as an error, track by track, and keeps its session [RD-13] [SU-01]", async () => {
        const transport = await dial(`moqt-${draft}`);
        const connection = await Connection.connect(url, {
          transport: webTransportOver(transport),
        });
        expect(connection.version).toBe(`moq-transport-${draft}`);
        expect(await refusal(connection, "video")).toBe(unreadable);
        expect(await isOpen(transport)).toBe(true);
        expect(await refusal(connection, "audio")).toBe(unreadable);
        expect(await isOpen(transport)).toBe(true);
        expect(decisions).toMatchObject([
          { requestType: "SUBSCRIBE", outcome: "REDIRECT", draft },
          { requestType: "SUBSCRIBE", outcome: "REDIRECT", draft },
        ]);
        connection.close();
        expect(await transport.closed).toMatchObject({ by: "local", code: 0n });
      });

      test("reports a rejection by its code and reason, and keeps its session", async () => {
        const transport = await dial(`moqt-${draft}`);
        const connection = await Connection.connect(url, {
          transport: webTransportOver(transport),
        });
        const elsewhere = Path.from("elsewhere");
        const doesNotExist = "SUBSCRIBE error: code=16 reason=no route for this namespace";
        expect(await refusal(connection, "video", elsewhere)).toBe(doesNotExist);
        expect(await refusal(connection, "video")).toBe(unreadable);
        expect(await isOpen(transport)).toBe(true);
        connection.close();
      });

      test("keeps its session where its namespace requests are redirected or refused [NS-05]", async () => {
        const transport = await dial(`moqt-${draft}`);
        const connection = await Connection.connect(url, {
          transport: webTransportOver(transport),
        });
        // It asks for the empty prefix first, which no route of this snapshot serves.
        for (const prefix of [undefined, live]) {
          const announced = connection.announced(prefix);
          const failure = await announced.next().catch((error: Error) => error.message);
          expect(failure).toBe("SubscribeNamespace rejected: typeId=0x5");
        }
        const offer = new Broadcast.Producer();
        connection.publish(live, offer);
        while (!warnings.mock.calls.flat().join().includes("announce failed: broadcast=live")) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        expect(await isOpen(transport)).toBe(true);
        expect(decisions.map(({ requestType, outcome }) => [requestType, outcome])).toEqual([
          ["SUBSCRIBE_NAMESPACE", "DOES_NOT_EXIST"],
          ["SUBSCRIBE_NAMESPACE", "REDIRECT"],
          ["PUBLISH_NAMESPACE", "REDIRECT"],
        ]);
        expect(await refusal(connection, "video")).toBe(unreadable);
        offer.close();
        connection.close();
      });
    });
  }
}

test("@moq/net dials the WebSocket itself, and speaks draft 20 on it [RD-13]", async () => {
  const connection = await Connection.connect(
    new URL(balancer.webSocketUrl.replace(/^ws/, "http")),
  );
  expect(connection.transport).toBe("websocket");
  expect(connection.version).toBe("moq-transport-20");
  expect(await refusal(connection, "video")).toBe(unreadable);
  expect(await refusal(connection, "audio")).toBe(unreadable);
  expect(balancer.events).toMatchObject([
    { type: "opened", transport: "qmux", draft: 20 },
    { type: "setup", implementation: "moq-lite-js" },
  ]);
  connection.close();
  await connection.closed;
});

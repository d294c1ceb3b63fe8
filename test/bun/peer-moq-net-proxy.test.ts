/**
 * @moq/net, which nobody here wrote, as publisher and as subscriber of a balancer in proxy mode with
 * a relay behind it, in each draft that both speak: a broadcast comes from one to the other, whole.
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
import { Broadcast, Connection, Path, Time } from "@moq/net";
import { Relay, RelayNetwork } from "../../scripts/relay/mod.ts";
import { utf8 } from "../../src/bytes.ts";
import type { Draft } from "../../src/moqt/mod.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";
import { payloadOf } from "../support/proxy/content.ts";
import { type ProxyUnderTest, serveProxied } from "../support/proxy/proxied-service.ts";
import { type Port, QuicWire, WebTransportWire } from "../support/proxy/wires.ts";
import { webTransportOver } from "../support/web-transport.ts";

const url = new URL("https://127.0.0.1/moq");
const groups = 5;
const frames = 20;

const network = new RelayNetwork();
const relay = new Relay({ name: "r1", network });
const wire = new WebTransportWire("quiche");
let ports: Port[];
let proxy: ProxyUnderTest;
const muted: { mockRestore(): void }[] = [];

beforeAll(async () => {
  const behindWire = await QuicWire.open("quiche");
  const behind = await behindWire.listen("r1", (transport) => {
    void relay.serve(transport);
  });
  const snapshot = parseSnapshot({
    version: 1,
    relays: [{ rid: "r1", uri: behind.uri, health: "healthy" }],
    routes: [{ prefix: [], kind: "static", rid: "r1" }],
  });
  proxy = serveProxied({
    holder: { active: { snapshot, signedAt: Date.now(), maximumAge: 600_000, digest: "" } },
    dial: (uri, { draft, signal }) => behindWire.dial(uri, draft, signal),
    backendTokens: "none",
    drainDeadline: 5000,
  });
  ports = [await wire.listen("lb", (transport) => proxy.serve(transport)), behind];
});

afterAll(async () => {
  for (const port of ports) await port.close();
});

beforeEach(() => {
  for (const method of ["warn", "debug", "error"] as const) {
    muted.push(spyOn(console, method).mockImplementation(() => {}));
  }
});

afterEach(() => {
  for (const spy of muted.splice(0)) spy.mockRestore();
});

async function connect(draft: Draft): Promise<Connection.Established> {
  const transport = await wire.dial(ports[0]?.uri ?? "", draft);
  return await Connection.connect(url, { transport: webTransportOver(transport) });
}

/** Whether the relay has somebody to send the track of a broadcast to. */
function isGranted(broadcast: string): boolean {
  const trackNamespace = [utf8("live"), utf8(broadcast)];
  return network.track({ trackNamespace, trackName: utf8("video") }).subscribers.size > 0;
}

describe("@moq/net through the proxy", () => {
  for (const draft of [18, 19, 20] as const) {
    test(`publishes a broadcast, and receives it whole, in draft ${draft} [LB-PMAP-3] [LB-PMAP-4] [LB-PDATA-9] [LB-PDATA-16] [LB-S63] [LB-S77]`, async () => {
      const live = Path.from(`live/game${draft}`);
      const publisher = await connect(draft);
      const subscriber = await connect(draft);
      expect(subscriber.version).toBe(`moq-transport-${draft}`);
      const announced = subscriber.announced(Path.from("live"));
      const offer = new Broadcast.Producer();
      publisher.publish(live, offer);
      expect(await announced.next()).toMatchObject({
        path: Path.from(`game${draft}`),
        active: true,
      });
      const broadcast = subscriber.consume(live);
      const track = broadcast.subscribe("video");
      const asked = await offer.requested();
      expect(asked?.name).toBe("video");
      const source = asked?.accept();
      // It cannot read a SUBSCRIBE_OK that names the largest object of its track: the standard has
      // two integers where it expects a length before them. So nothing is published before that.
      while (!isGranted(`game${draft}`)) await new Promise((resolve) => setTimeout(resolve, 5));
      for (let id = 0; id < groups; id++) {
        const group = source?.appendGroup();
        for (let frame = 0; frame < frames; frame++) {
          const payload = payloadOf("video", id, frame, 2000);
          group?.writeFrame({ payload, timestamp: Time.Timestamp.now() });
        }
        group?.close();
        const received = await track.recvGroup();
        expect(received?.sequence).toBe(id);
        for (let frame = 0; frame < frames; frame++) {
          const { payload } = (await received?.readFrame()) ?? {};
          expect(payload).toEqual(payloadOf("video", id, frame, 2000));
        }
        expect(await received?.readFrame()).toBeUndefined();
      }
      // PUBLISH_NAMESPACE and SUBSCRIBE of one, SUBSCRIBE_NAMESPACE and SUBSCRIBE of the other.
      expect(proxy.server.status().proxy.mappings).toBeGreaterThanOrEqual(4);
      broadcast.close();
      offer.close();
      publisher.close();
      subscriber.close();
      await Promise.all([publisher.closed, subscriber.closed]);
      expect(proxy.faults).toEqual([]);
    });
  }
});

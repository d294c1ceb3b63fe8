/**
 * Proxy mode as the scenarios have it: every connection becomes a proxied session.
 *
 * @module
 */

import { Admission } from "../../../src/moq-lb/admission.ts";
import { ProxiedSession } from "../../../src/moq-lb/proxy/proxied-session.ts";
import {
  defaultProxyLimits,
  type ProxyLimits,
  type ProxyOptions,
} from "../../../src/moq-lb/proxy/proxy-options.ts";
import { createHealthView, type HealthView } from "../../../src/moq-lb/proxy/relays/health-view.ts";
import { createRelays, type Relays } from "../../../src/moq-lb/proxy/relays/relays.ts";
import { MoqtSession, systemClock } from "../../../src/session/mod.ts";
import type { ActiveSnapshot } from "../../../src/snapshot/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";

export interface ServiceOptions extends Omit<ProxyOptions, "limits"> {
  readonly holder: { readonly active: ActiveSnapshot | undefined };
  readonly limits?: Partial<ProxyLimits>;
}

export interface ProxyUnderTest {
  readonly sessions: ReadonlySet<ProxiedSession>;
  /** What went wrong inside. */
  readonly faults: readonly unknown[];
  readonly health: HealthView;
  readonly relays: Relays;
  serve(transport: Transport): void;
  rotated(active: ActiveSnapshot): void;
  close(): Promise<void>;
}

export function serveProxied(options: ServiceOptions): ProxyUnderTest {
  const { holder, dial, backendTokens, drainDeadline, reissues = true } = options;
  const { clock = systemClock, random = Math.random } = options;
  const limits = { ...defaultProxyLimits, ...options.limits };
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  const now = () => Date.now();
  const health = createHealthView(holder, now);
  const relays = createRelays({
    dial,
    backendTokens,
    limits,
    health,
    implementation: "yardmaster",
    tokenCacheSize: 4096,
    now,
    clock,
    random,
    onFault,
  });
  const shared = {
    admission: new Admission({ authorization: "allow-all", random }),
    health,
    relays,
    backendTokens,
    limits,
    drainDeadline,
    reissues,
    clock,
    random,
    now,
    retryAfter: 1000,
    ownServiceUris: [],
  };
  const sessions = new Set<ProxiedSession>();
  const open = new Set<MoqtSession>();
  let previous = holder.active;

  const serve = (transport: Transport) => {
    const session: MoqtSession = new MoqtSession(transport, {
      role: "server",
      clock,
      setupOptions: [
        { type: "MOQT_IMPLEMENTATION", value: "yardmaster" },
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 4096n },
      ],
      onRequest: (request) => proxied.onRequest(request),
      onDataStream: (stream) => proxied.onDataStream(stream),
      onDatagram: (datagram, bytes) => proxied.onDatagram(datagram, bytes),
      onGoaway: (goaway) => proxied.onGoaway(goaway),
      onFault,
    });
    const proxied = new ProxiedSession(session, () => ({ authority: "lb", tokens: [] }), shared);
    sessions.add(proxied);
    open.add(session);
    void session.run().then((close) => {
      proxied.onClosed(close);
      sessions.delete(proxied);
      open.delete(session);
    });
  };
  return {
    sessions,
    faults,
    health,
    relays,
    serve,
    rotated(active) {
      for (const session of sessions) session.onSnapshot(previous, active);
      previous = active;
    },
    async close() {
      const ended = [...open].map(({ closed }) => closed);
      for (const session of open) session.close();
      await Promise.all(ended);
    },
  };
}

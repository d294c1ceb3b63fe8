/**
 * What redirect mode costs on a live session: a SUBSCRIBE answered with REDIRECT, against a bare
 * echo of the same bytes on the same transport. Client code is the same for both, and each server
 * runs in a process of its own.
 */

import { utf8 } from "../src/bytes.ts";
import { encodeControlMessage } from "../src/moqt/mod.ts";
import { stackName } from "../src/quic/mod.ts";
import type { Transport, TransportStream } from "../src/transport/transport.ts";
import { ServerProcess } from "../test/support/server-process.ts";
import type { ServerKind } from "../test/support/session-server.ts";
import { type Comparison, compare } from "./compare.ts";
import { median } from "./pair.ts";
import { informs, type Row } from "./row.ts";

/** How clients get to a server. */
type Dial = (server: ServerProcess) => Promise<Transport>;

type Servers = Readonly<Record<ServerKind, ServerProcess>>;

const emptySetup = Uint8Array.of(0xaf, 0x00, 0x00, 0x00);

/** A client that knows no more of MOQT than it has to send. */
class Client {
  readonly #transport: Transport;
  /** Kept, since Deno ends a stream that nobody holds any more. */
  readonly control: TransportStream;
  #requests = 0n;

  private constructor(transport: Transport, control: TransportStream) {
    this.#transport = transport;
    this.control = control;
  }

  static async connect(dial: Dial, server: ServerProcess): Promise<Client> {
    const transport = await dial(server);
    const control = await transport.openUni();
    await control.write(emptySetup);
    return new Client(transport, control);
  }

  /** The next `count` SUBSCRIBE messages. */
  subscribes(count: number): Uint8Array[] {
    return Array.from({ length: count }, () => {
      const message = {
        type: "SUBSCRIBE",
        requestId: this.#requests,
        trackNamespace: [utf8("example.com"), utf8(`m${this.#requests % 64n}`)],
        trackName: utf8("video"),
        parameters: [],
      } as const;
      this.#requests += 2n;
      return encodeControlMessage(message, 22);
    });
  }

  /** Sends a request on a stream of its own and reads its answer to the end. */
  async ask(request: Uint8Array): Promise<void> {
    const stream = await this.#transport.openBidi();
    await stream.write(request, true);
    while ((await stream.read()) !== null);
  }

  close(): Promise<unknown> {
    this.#transport.close(0n, "");
    return this.#transport.closed;
  }
}

/** Median microseconds of one request after another. */
async function latency(client: Client, count = 100): Promise<number> {
  const requests = client.subscribes(count);
  const times: number[] = [];
  for (const request of requests) {
    const start = performance.now();
    await client.ask(request);
    times.push(performance.now() - start);
  }
  return median(times) * 1000;
}

/** Requests per second of `clients`, each with `inFlight` under way at once. */
async function rate(clients: readonly Client[], count: number, inFlight: number): Promise<number> {
  const lanes = clients.flatMap((client) =>
    Array.from({ length: inFlight }, () => ({ client, requests: client.subscribes(count) })),
  );
  const start = performance.now();
  await Promise.all(
    lanes.map(async ({ client, requests }) => {
      for (const request of requests) await client.ask(request);
    }),
  );
  return (lanes.length * count * 1000) / (performance.now() - start);
}

const latencyBudget = 1.5;

/** Room for the crowds of one client. */
const limits = { maximumSessionsPerClient: 10_000 };

/** In waves that the receive buffer of a UDP socket has room for. */
async function connectAll(dial: Dial, server: ServerProcess, count: number): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const wave = Math.min(50, count - clients.length);
    const connecting = Array.from({ length: wave }, () => Client.connect(dial, server));
    clients.push(...(await Promise.all(connecting)));
  }
  return clients;
}

/** How long one redirect takes, and how many there are in a second. */
async function timing(transport: string, dial: Dial): Promise<Row[]> {
  const servers: Servers = {
    echo: await ServerProcess.start("echo"),
    redirect: await ServerProcess.start("redirect", limits),
  };
  const one = [
    await Client.connect(dial, servers.echo),
    await Client.connect(dial, servers.redirect),
  ] as const;
  const single = await compare(latency, one, 12);
  const many = await compare((client) => rate([client], 20, 32), one, 12);
  const crowds = [
    await connectAll(dial, servers.echo, 200),
    await connectAll(dial, servers.redirect, 200),
  ] as const;
  const wide = await compare((clients) => rate(clients, 5, 1), crowds, 8);
  await Promise.all([...one, ...crowds.flat()].map((client) => client.close()));
  servers.echo.stop();
  servers.redirect.stop();
  const perSecond = ({ subject, base }: Comparison) =>
    `${subject.toFixed(0)}/s, echo ${base.toFixed(0)}/s`;
  return [
    {
      what: `from opening a SUBSCRIBE stream to its whole REQUEST_ERROR, against an echo, ${transport}`,
      ratio: single.ratio,
      budget: `at most ${latencyBudget} x`,
      met: single.ratio <= latencyBudget,
      detail: `${single.subject.toFixed(0)} µs, echo ${single.base.toFixed(0)} µs`,
    },
    {
      what: `redirects a second, one session, 32 at once, against an echo, ${transport}`,
      ratio: many.ratio,
      ...informs,
      detail: perSecond(many),
    },
    {
      what: `redirects a second, 200 sessions, against an echo, ${transport}`,
      ratio: wide.ratio,
      ...informs,
      detail: perSecond(wide),
    },
  ];
}

/** What the process of `server` grows by for each of `count` sessions that do nothing. */
async function idleMemory(dial: Dial, server: ServerProcess, count: number): Promise<number> {
  const before = await server.state();
  const clients = await connectAll(dial, server, count);
  for (const client of clients) {
    // Once it is answered, all that a session needs is there.
    for (const request of client.subscribes(1)) await client.ask(request);
  }
  const after = await server.state();
  for (const client of clients) await client.close();
  return (after.memory - before.memory) / count;
}

async function idleSessions(transport: string, dial: Dial): Promise<Row> {
  const measured: Partial<Record<ServerKind, number>> = {};
  for (const kind of ["echo", "redirect"] as const) {
    // A process of its own: what others have freed would be used again.
    const server = await ServerProcess.start(kind, limits);
    await idleMemory(dial, server, 20);
    measured[kind] = await idleMemory(dial, server, 400);
    server.stop();
  }
  const { redirect = 0, echo = 0 } = measured;
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  return {
    what: `memory of an idle session against an idle connection, ${transport}`,
    ratio: redirect / echo,
    ...informs,
    detail: `${kib(redirect)}, connection alone ${kib(echo)}`,
  };
}

const growthBudget = 1.1;

/** Sessions of one request, one after another: whatever each leaves behind shows 1,000 times. */
async function growth(transport: string, dial: Dial): Promise<Row> {
  const server = await ServerProcess.start("redirect", limits);
  const memoryAfter = async (count: number) => {
    const closing: Promise<unknown>[] = [];
    for (let i = 0; i < count; i++) {
      const client = await Client.connect(dial, server);
      for (const request of client.subscribes(1)) await client.ask(request);
      closing.push(client.close());
    }
    await Promise.all(closing);
    return (await server.state()).memory;
  };
  // Heaps of both runtimes find their size within this many; then they keep it.
  await memoryAfter(2500);
  const half = await memoryAfter(1000);
  const whole = await memoryAfter(1000);
  server.stop();
  const mib = (bytes: number) => `${(bytes / 0x10_0000).toFixed(1)} MiB`;
  return {
    what: `memory after 2,000 short sessions against after 1,000, ${transport}`,
    ratio: whole / half,
    budget: `at most ${growthBudget} x`,
    met: whole / half <= growthBudget,
    detail: `${mib(whole)}, after half ${mib(half)}`,
  };
}

/** Rows for raw QUIC on the stack of this runtime, and for QMux. */
export async function session(): Promise<Row[]> {
  const rows: Row[] = [];
  const stack = stackName().split(" ")[0] as string;
  const transports: readonly (readonly [string, Dial])[] = [
    [`raw QUIC (${stack})`, (server) => server.connectQuic()],
    ["QMux", (server) => server.connectQmux()],
  ];
  for (const [transport, dial] of transports) {
    rows.push(
      ...(await timing(transport, dial)),
      await idleSessions(transport, dial),
      await growth(transport, dial),
    );
  }
  return rows;
}

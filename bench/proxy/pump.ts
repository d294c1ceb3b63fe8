/** The least that anything between two connections has to do: bytes of each stream, to the other. */

import type { Transport, TransportStream } from "../../src/transport/transport.ts";

export function pump(one: Transport, other: Transport): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.onDatagram = (bytes) => to.sendDatagram(bytes);
    void from.closed.then(({ code, reason }) => to.close(code, reason));
    void pumpStreams(from, to);
  }
}

async function pumpStreams(from: Transport, to: Transport): Promise<void> {
  for (let next = await from.accept(); next !== null; next = await from.accept()) {
    void pumpStream(next, to).catch(() => {});
  }
}

async function pumpStream(stream: TransportStream, to: Transport): Promise<void> {
  const paired = stream.kind === "bidi" ? await to.openBidi() : await to.openUni();
  if (stream.kind === "bidi") copy(paired, stream).catch(() => {});
  await copy(stream, paired);
}

async function copy(from: TransportStream, to: TransportStream): Promise<void> {
  for (let part = await from.read(); part !== null; part = await from.read()) await to.write(part);
  await to.end();
}

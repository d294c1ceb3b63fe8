/**
 * A Worker that echoes over QMux, itself at `/worker` and in a Durable Object at `/object`. What
 * the peer resets is reset with the same code, a stream that asks for it closes the session.
 *
 * @module
 */

import type { DurableObjectNamespace } from "@cloudflare/workers-types";
import { concatBytes } from "../../src/bytes.ts";
import { StreamReset } from "../../src/quic/errors.ts";
import { upgrade } from "../../src/transport/qmux-upgrade/cloudflare.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

const protocols = ["moqt-22", "moqt-18"];

async function serve(transport: Transport): Promise<void> {
  for (let stream = await transport.accept(); stream !== null; stream = await transport.accept()) {
    echo(transport, stream).catch(() => transport.close(1n, "the echo failed"));
  }
}

async function echo(transport: Transport, stream: TransportStream): Promise<void> {
  const parts: Uint8Array[] = [];
  try {
    for (let part = await stream.read(); part !== null; part = await stream.read()) {
      parts.push(part);
    }
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error;
    stream.reset(error.applicationCode);
    return;
  }
  const bytes = concatBytes(...parts);
  if (new TextDecoder().decode(bytes) === "close") transport.close(0x10n, "as you wish");
  else await stream.write(bytes, true);
}

function answer(request: Request): Response {
  const { response, transport } = upgrade(request, { protocols });
  if (transport !== undefined) void serve(transport);
  return response;
}

export class Session {
  fetch(request: Request): Response {
    return answer(request);
  }
}

interface Env {
  readonly SESSIONS: DurableObjectNamespace;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).pathname !== "/object") return answer(request);
    const object = env.SESSIONS.get(env.SESSIONS.idFromName("session"));
    return (await object.fetch(request as never)) as unknown as Response;
  },
};

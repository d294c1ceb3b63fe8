/**
 * What the page of the browser tests can do: MOQT sessions over the browser's own WebTransport, by
 * the same session code as everywhere else. Bundled into the page, whose functions tests then call.
 */

import { fromHex, toHex } from "../../src/bytes.ts";
import { createClient } from "../../src/client/client.ts";
import { draftName, parseName } from "../../src/moqt/mod.ts";
import { StreamReset } from "../../src/quic/errors.ts";
import { MoqtSession } from "../../src/session/mod.ts";
import { connectBrowser } from "../../src/transport/browser.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

/** Where to connect to. Everything that goes in and out of a page is JSON. */
export interface PageTarget {
  readonly url: string;
  /** SHA-256 of the server's certificate, in hexadecimal. */
  readonly certificateHash: string;
  readonly protocols: readonly string[];
}

/** A REQUEST_ERROR, in JSON. */
export interface PageRefusal {
  readonly errorCode: number;
  readonly connectUri?: string;
  /** In hexadecimal. */
  readonly trackNamespace?: readonly string[];
  readonly trackName?: string;
}

/** How a session ended, in JSON. */
export interface PageClose {
  readonly by: string;
  readonly app: boolean;
  readonly code: number;
  readonly reason: string;
}

/** A service, and the relays that it may send to. */
export interface PageService {
  readonly uri: string;
  /** SHA-256 of every certificate on the way, in hexadecimal. */
  readonly certificateHashes: readonly string[];
}

/** What a subscription that followed a redirect got. */
export interface PageTrack {
  /** Connect URIs that the page was redirected to. */
  readonly redirects: readonly string[];
  /** Drafts of the sessions that were opened, by URI. */
  readonly sessions: readonly { readonly uri: string; readonly draft: number }[];
  /** Group, object and payload as text, of each object. */
  readonly objects: readonly (readonly [group: number, object: number, payload: string])[];
}

export interface PageCodes {
  readonly seen: readonly { readonly stopped: number; readonly reset: number }[];
  /** What the transport says of the browser. */
  readonly largestSent: number;
}

export interface PageSession {
  readonly protocol: string;
  readonly kind: string;
  readonly implementation: string | undefined;
  readonly refusals: readonly PageRefusal[];
  /** Whether the session was still open when all was answered. */
  readonly isOpen: boolean;
}

async function connect({ url, certificateHash, protocols }: PageTarget): Promise<Transport> {
  const hash = fromHex(certificateHash) as Uint8Array;
  return await connectBrowser(url, { protocols, certificateHashes: [hash] });
}

/** The code that `stream` is reset with. */
async function resetCode(stream: TransportStream): Promise<bigint | undefined> {
  try {
    while ((await stream.read()) !== null);
  } catch (error) {
    if (error instanceof StreamReset) return error.applicationCode;
    throw error;
  }
  return undefined;
}

const page = {
  /** Subscribes to each of `names`, in text form, one after another, and tells how it was refused. */
  async subscribe(target: PageTarget, names: readonly string[]): Promise<PageSession> {
    const transport = await connect(target);
    const session = new MoqtSession(transport, { role: "client" });
    void session.run();
    const setup = await session.setup;
    const refusals: PageRefusal[] = [];
    for (const name of names) {
      const { trackNamespace, trackName = new Uint8Array(0) } = parseName(name);
      const request = session.request({
        type: "SUBSCRIBE",
        trackNamespace,
        trackName,
        parameters: [],
      });
      const answer = await request.answer;
      if (answer.type !== "REQUEST_ERROR") throw new Error(`answered with ${answer.type}`);
      const { errorCode, redirect } = answer;
      refusals.push({
        errorCode: Number(errorCode),
        ...(redirect && {
          connectUri: redirect.connectUri,
          trackNamespace: redirect.trackNamespace.map(toHex),
          trackName: toHex(redirect.trackName),
        }),
      });
    }
    const { protocol, kind } = transport;
    const isOpen = !session.isOver;
    session.close("NO_ERROR", "done");
    return { protocol, kind, implementation: setup?.implementation, refusals, isOpen };
  },

  /** Subscribes to a track, wherever it is, and takes `count` objects of it. */
  async receive(service: PageService, name: string, count: number): Promise<PageTrack> {
    const certificateHashes = service.certificateHashes.map((hash) => fromHex(hash) as Uint8Array);
    const redirects: string[] = [];
    const sessions: { uri: string; draft: number }[] = [];
    const client = createClient({
      serviceUri: service.uri,
      dial: (uri, { drafts }) =>
        connectBrowser(uri, { protocols: drafts.map(draftName), certificateHashes }),
      onEvent(event) {
        if (event.type === "redirected") redirects.push(event.to.uri);
        if (event.type === "connected") sessions.push({ uri: event.uri, draft: event.draft });
      },
    });
    const { trackNamespace, trackName = new Uint8Array(0) } = parseName(name);
    const subscription = await client.subscribe({ trackNamespace, trackName });
    const objects: [number, number, string][] = [];
    for await (const { groupId, objectId, payload } of subscription) {
      objects.push([Number(groupId), Number(objectId), new TextDecoder().decode(payload)]);
      if (objects.length === count) break;
    }
    await client.close();
    return { redirects, sessions, objects };
  },

  /** Why a connection cannot be had. */
  async failure(target: PageTarget): Promise<string> {
    try {
      (await connect(target)).close(0n, "");
      return "";
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  },

  /** What ends a session on which `bytes` are sent as a control stream. */
  async closeAfter(target: PageTarget, bytes: string): Promise<PageClose> {
    const transport = await connect(target);
    const stream = await transport.openUni();
    await stream.write(fromHex(bytes) as Uint8Array);
    const { by, app, code, reason } = await transport.closed;
    return { by, app, code: Number(code), reason };
  },

  /**
   * Resets a stream with each of `codes` once the server has answered on it, and closes the session
   * with the last of them.
   *
   * @returns the codes that came with what the server then stopped and reset
   */
  async codes(target: PageTarget, codes: readonly number[]): Promise<PageCodes> {
    const transport = await connect(target);
    const seen: { stopped: number; reset: number }[] = [];
    for (const code of codes) {
      const given = await transport.openBidi();
      await given.write(Uint8Array.of(1));
      await given.read();
      given.reset(BigInt(code));
      const reset = Number(await resetCode(given));
      const taken = await transport.openUni();
      await taken.write(Uint8Array.of(2));
      seen.push({ stopped: Number(await taken.stopped), reset });
    }
    transport.close(BigInt(codes.at(-1) ?? 0), "all seen");
    await transport.closed;
    return { seen, largestSent: Number(transport.fidelity.largestResetCode) };
  },
};

export type Page = typeof page;

Object.assign(globalThis, { page });

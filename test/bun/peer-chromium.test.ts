/**
 * Chromium, whose WebTransport nobody here wrote, as client of a balancer in redirect mode: a page
 * that runs our session code over the browser's own streams.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ListeningRelay, listen as listenAsRelay } from "../../scripts/relay/listen.ts";
import { Relay } from "../../scripts/relay/mod.ts";
import { toHex, utf8 } from "../../src/bytes.ts";
import { connect } from "../../src/client/mod.ts";
import { Http3ServerConnection, type WebTransportSession } from "../../src/http3/mod.ts";
import { parseName, requestErrorCodes, sessionErrorCodes } from "../../src/moqt/mod.ts";
import {
  developmentCertificate,
  listenQuic,
  type QuicConnection,
  type QuicServer,
  StreamReset,
} from "../../src/quic/mod.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";
import type { TransportStream } from "../../src/transport/transport.ts";
import { webTransportTransport } from "../../src/transport/webtransport.ts";
import type { Page, PageTarget } from "../browser/page.ts";
import { Balancer } from "../support/balancer.ts";
import { today } from "../support/redirect-bed.ts";
import { chromiumPath, type OpenPage, openPage } from "./chromium.ts";

/** What scripts of the page can call. */
declare const page: Page;

/** A browser takes its time on a busy machine. */
const slow = 60_000;

if (chromiumPath === undefined) {
  console.log("no Chromium on this machine: the browser tests are left out");
} else {
  describe("Chromium as client of a balancer", suite);
}

function suite(): void {
  let balancer: Balancer;
  let opened: OpenPage;

  beforeAll(async () => {
    [balancer, opened] = await Promise.all([Balancer.start(), openPage("test/browser/page.ts")]);
  }, slow);

  afterAll(async () => {
    await Promise.all([opened?.close(), balancer?.close()]);
  }, slow);

  const target = (protocols: readonly string[], path = "/moqt"): PageTarget => ({
    url: `https://127.0.0.1:${balancer.port}${path}`,
    certificateHash: toHex(balancer.certificateHash),
    protocols,
  });

  const redirect = (track: string) => ({
    errorCode: Number(requestErrorCodes.REDIRECT),
    connectUri: "moqt://r2.example:4443/moq",
    trackNamespace: [toHex(utf8("live"))],
    trackName: toHex(utf8(track)),
  });

  for (const draft of [22, 21, 20, 19, 18]) {
    test(
      `is redirected in draft ${draft}, and its session stays open [RD-01]`,
      async () => {
        const seen = await opened.tab.evaluate(
          (to) => page.subscribe(to, ["live--video", "live--audio"]),
          target([`moqt-${draft}`]),
        );
        expect(seen).toEqual({
          protocol: `moqt-${draft}`,
          kind: "webtransport-h3",
          implementation: "yardmaster",
          refusals: [redirect("video"), redirect("audio")],
          isOpen: true,
        });
      },
      slow,
    );
  }

  test(
    "is given the best draft of those that it offers",
    async () => {
      const seen = await opened.tab.evaluate(
        (to) => page.subscribe(to, ["elsewhere--video"]),
        target(["moqt-19", "unheard-of", "moqt-21"]),
      );
      expect(seen.protocol).toBe("moqt-21");
      expect(seen.refusals).toEqual([{ errorCode: Number(requestErrorCodes.DOES_NOT_EXIST) }]);
    },
    slow,
  );

  test(
    "gets no session without a common protocol, or at another path [PX-07] [SU-05]",
    async () => {
      const { tab } = opened;
      const failure = (to: PageTarget) => tab.evaluate((where) => page.failure(where), to);
      expect(await failure(target(["unheard-of"]))).toBe("CONNECT_FAILED");
      expect(await failure(target(["moqt-22"], "/nope"))).toBe("CONNECT_FAILED");
      expect(await failure(target(["moqt-22"]))).toBe("");
    },
    slow,
  );

  test(
    "is closed with the code of its fault [SU-03]",
    async () => {
      const withPath = "af00000601042f6d6f71";
      const seen = await opened.tab.evaluate(([to, bytes]) => page.closeAfter(to, bytes), [
        target(["moqt-22"]),
        withPath,
      ] as const);
      expect(seen).toMatchObject({
        by: "remote",
        app: true,
        code: Number(sessionErrorCodes.INVALID_PATH),
      });
    },
    slow,
  );

  test(
    "follows a redirect to the relay of each track, and receives its objects [RD-17]",
    async () => {
      const relays = await Promise.all(
        ["r1", "r2"].map((name) => listenAsRelay(new Relay({ name }))),
      );
      const [r1, r2] = relays as [ListeningRelay, ListeningRelay];
      const active = {
        snapshot: parseSnapshot({
          version: 1,
          relays: [
            { rid: "r1", uri: r1.webTransportUri, health: "healthy" },
            { rid: "r2", uri: r2.webTransportUri, health: "healthy" },
          ],
          routes: [
            { prefix: ["live"], kind: "static", rid: "r2" },
            { prefix: ["ops"], kind: "static", rid: "r1" },
          ],
        }),
        signedAt: today,
        maximumAge: 60_000,
        digest: "",
      };
      const entrance = await Balancer.start({ active });
      const uri = `https://127.0.0.1:${entrance.port}/moqt`;
      const hashes = [entrance, r1, r2].map(({ certificateHash }) => certificateHash);
      const publisher = connect({
        serviceUri: uri,
        connection: { certificateHashes: hashes },
      });
      for (const [name, relay] of [
        ["live--video", r2],
        ["ops--log", r1],
      ] as const) {
        const { trackNamespace, trackName = new Uint8Array(0) } = parseName(name);
        const publication = await publisher.publish({ trackNamespace, trackName });
        const received = opened.tab.evaluate(
          ([service, track]) => page.receive(service, track, 3),
          [{ uri, certificateHashes: hashes.map(toHex) }, name] as const,
        );
        await publication.wanted();
        const group = publication.openGroup();
        for (const text of ["one", "two", "three"]) await group.write({ payload: utf8(text) });
        await group.end();
        expect(await received).toEqual({
          redirects: [relay.webTransportUri],
          sessions: [
            { uri, draft: 22 },
            { uri: relay.webTransportUri, draft: 22 },
          ],
          objects: [
            [0, 0, "one"],
            [0, 1, "two"],
            [0, 2, "three"],
          ],
        });
      }
      await publisher.close();
      await Promise.all([entrance, ...relays].map((service) => service.close()));
    },
    slow,
  );

  test(
    "takes every code as it is, and sends those that it says it sends",
    async () => {
      const codes = [0, 1, 0x12, 0x1d, 0x1e, 0xff, 0x100, 0xffff_ffff];
      const certificate = await developmentCertificate();
      const hostname = "127.0.0.1";
      const server = await listenQuic({ hostname, port: 0, certificate, alpn: ["h3"] });
      const served = answerWith(server, codes);
      const target: PageTarget = {
        url: `https://127.0.0.1:${server.address.port}/`,
        certificateHash: certificate.hashHex,
        protocols: ["moqt-22"],
      };
      const { seen, largestSent } = await opened.tab.evaluate(([to, all]) => page.codes(to, all), [
        target,
        codes,
      ] as const);
      const { resets, close } = await served;
      expect(seen).toEqual(codes.map((code) => ({ stopped: code, reset: code })));
      // All that MOQT registers fits in a byte, which is what Chromium sends.
      expect(largestSent).toBeGreaterThanOrEqual(0xff);
      expect(resets).toEqual(codes.map((code) => Math.min(code, largestSent)));
      expect(close).toMatchObject({ by: "remote", code: 0xffff_ffffn, reason: "all seen" });
      await server.close();
    },
    slow,
  );
}

/** Answers on bidirectional streams, and ends every stream with the next of `codes`. */
async function answerWith(server: QuicServer, codes: readonly number[]) {
  const connection = (await server.accept()) as QuicConnection;
  const http3 = new Http3ServerConnection(connection, {
    webTransport: { accept: () => ({ protocol: "moqt-22" }) },
  });
  const transport = webTransportTransport((await http3.acceptSession()) as WebTransportSession);
  const resets: number[] = [];
  for (const code of codes.map(BigInt)) {
    const bidi = (await transport.accept()) as TransportStream;
    await bidi.read();
    await bidi.write(utf8("seen"));
    const error = await bidi.read().catch((reset) => reset);
    resets.push(error instanceof StreamReset ? Number(error.applicationCode) : -1);
    bidi.reset(code);
    const uni = (await transport.accept()) as TransportStream;
    // Chromium loses the code of a stop that comes while it writes.
    await uni.read();
    uni.stopSending(code);
  }
  return { resets, close: await transport.closed };
}

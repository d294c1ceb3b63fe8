/**
 * `npm run bench -- behaviour`: what clients of each proxy see of the events that
 * docs/gateway-behaviour.md lists, played by a scripted origin and scripted clients, frame by frame.
 * Writes that page anew.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../test/bun/processes.ts";
import { createTestAuthority, type TestCertificate } from "../test/support/http2/certificates.ts";
import { BehaviourBed } from "./behaviour/bed.ts";
import { fieldHappenings } from "./behaviour/fields.ts";
import { goawayHappenings } from "./behaviour/goaway.ts";
import type { Happening, Seen } from "./behaviour/happening.ts";
import { behaviourPage } from "./behaviour/page.ts";
import { resetHappenings } from "./behaviour/resets.ts";
import { caddy } from "./proxies/caddy.ts";
import { haproxy } from "./proxies/haproxy.ts";
import { nghttpx } from "./proxies/nghttpx.ts";
import { ours } from "./proxies/ours.ts";
import type { ReverseProxy } from "./proxies/proxy.ts";
import { replyFrom } from "./proxies/reply-from.ts";

const page = join(root, "docs", "gateway-behaviour.md");
const proxies: readonly ReverseProxy[] = [
  ours("Bun"),
  ours("Deno"),
  haproxy,
  nghttpx,
  caddy,
  replyFrom,
];
const happenings: readonly Happening[] = [
  ...goawayHappenings,
  ...resetHappenings,
  ...fieldHappenings,
];

async function play(
  happening: Happening,
  proxy: ReverseProxy,
  certificate: TestCertificate & { readonly ca: string },
): Promise<Seen> {
  try {
    return await BehaviourBed.with(proxy, certificate, (bed) => happening.play(bed));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { saw: `not played: ${message.split("\n")[0]}`, holds: false };
  }
}

/** Runs it. What is not as wanted is for the page to say: it ends well once all was played. */
export async function behaviour(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: "" },
      cases: { type: "string", default: "" },
      print: { type: "boolean", default: false },
    },
  });
  const only = new RegExp(values.only, "i");
  const cases = new RegExp(values.cases);
  const chosen = proxies.filter((proxy) => {
    const reason = proxy.missing();
    if (reason !== undefined) console.log(`${reason}: ${proxy.name} is left out`);
    return reason === undefined && only.test(proxy.name);
  });
  const events = happenings.filter(({ of }) => cases.test(of));
  const authority = await createTestAuthority();
  const certificate = await authority.server("localhost", "127.0.0.1");
  const trusted = { ...certificate, ca: authority.ca };
  const columns = await Promise.all(
    chosen.map(async (proxy) => {
      const seen: Seen[] = [];
      for (const happening of events) seen.push(await play(happening, proxy, trusted));
      return { proxy, seen };
    }),
  );
  const text = behaviourPage(events, columns);
  if (values.print || values.only !== "" || values.cases !== "") console.log(text);
  else writeFileSync(page, text);
  for (const { proxy, seen } of columns) {
    const held = seen.filter(({ holds }) => holds).length;
    console.log(`${proxy.name}: ${held} of ${events.length} as wanted`);
  }
  return true;
}

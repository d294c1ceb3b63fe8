/** The agent's pages in headless Chromium: light and dark, wide and narrow, without scripts. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Browser, type BrowserContext, chromium, type Page as Tab } from "playwright-core";
import { signOperatorToken } from "../../src/agent/action.ts";
import {
  AgentDouble,
  appFor,
  CollectorDouble,
  manyInstances,
  manyRelays,
  noon,
  type Person,
  type PoolRelay,
  person,
  poolOf,
} from "../support/agent-double.ts";
import { chromiumPath } from "./chromium.ts";

/** Starting a browser takes its time on a busy machine. */
const slow = 60_000;
/** A folder for screenshots, for those who want to look at the pages. */
const folder = process.env.YARDMASTER_SCREENSHOTS;

if (chromiumPath === undefined) {
  console.log("no Chromium on this machine: the agent's pages are not looked at");
} else {
  describe("the agent's pages in Chromium", suite);
}

const sizes = [
  { name: "desktop", width: 1280, height: 800 },
  { name: "phone", width: 390, height: 844 },
] as const;
const schemes = ["light", "dark"] as const;

interface Scene {
  /** Two versions to simulate between. */
  readonly versions: readonly [from: number, to: number];
  readonly agent: AgentDouble;
  readonly collector: CollectorDouble;
}

/** An empty pool, before anything but itself was published. */
function empty(): Scene {
  const agent = new AgentDouble();
  agent.put(poolOf([], 1), { cause: "first" });
  return { agent, collector: new CollectorDouble(), versions: [1, 1] };
}

const three: readonly PoolRelay[] = [
  { rid: "ams-1", weight: 2 },
  { rid: "fra-1" },
  { rid: "iad-1" },
];

/** Three relays with a history, and five instances of which one is behind. */
function small(): Scene {
  const agent = new AgentDouble();
  const alice = { name: "alice", kid: "QmFzZTY0dXJsLXRodW1icHJpbnQ" };
  agent.put(poolOf(three.slice(1), 40), {
    cause: "publish",
    at: noon - 90_000_000,
    changes: ["relay fra-1 added", "relay iad-1 added", "hashed route example.2ecom added"],
    operator: { ...alice, reason: "first two relays", signed: true },
    action: "eyJhbGciOiJFZERTQSJ9.eyJ0eXBlIjoicHVibGlzaCJ9.c2lnbmF0dXJl",
  });
  agent.put(poolOf(three, 41), {
    cause: "publish",
    at: noon - 7_200_000,
    changes: ["relay ams-1 added", "route example.2ecom: ams-1 added with weight 2"],
    operator: { ...alice, reason: "Amsterdam is up, twice the size", signed: true },
    action: "eyJhbGciOiJFZERTQSJ9.eyJ0eXBlIjoicHVibGlzaCJ9.c2lnbmF0dXJl",
  });
  agent.put(poolOf([three[0]!, { ...three[1]!, health: "unhealthy" }, three[2]!], 42), {
    cause: "health",
    changes: ["relay fra-1: healthy is now unhealthy"],
  });
  agent.mark("fra-1", {
    probe: {
      verdict: "down",
      streak: -4,
      at: noon - 4000,
      duration: 2000,
      fault: "TIMEOUT",
      flaps: 2,
    },
  });
  agent.mark("iad-1", {
    probe: { verdict: "up", streak: 118, at: noon - 3000, duration: 41, flaps: 0 },
  });
  agent.refusals.push({
    at: noon - 400_000,
    type: "rollback",
    code: "FORBIDDEN",
    operator: "mallory",
    reason: "I liked it before",
  });
  const collector = new CollectorDouble();
  collector.views = manyInstances(8, 42).slice(3);
  return { agent, collector, versions: [40, 41] };
}

/** 200 relays and 200 instances, and something to worry about. */
function large(): Scene {
  const agent = new AgentDouble();
  agent.put(poolOf(manyRelays(190), 1206), { cause: "publish" });
  agent.put(poolOf(manyRelays(200), 1207), {
    cause: "health",
    changes: ["relay nrt-9: unhealthy is now healthy"],
  });
  agent.alarms.push({
    code: "PROBE_CAP",
    since: noon - 300_000,
    message: "12 relays fail and probes may take out no more than half of the pool",
  });
  agent.mark("sin-1", { hint: { state: "unhealthy", until: noon + 60_000, instances: 3 } });
  agent.mark("gru-2", { heldByCap: true });
  agent.mark("fra-2", { drained: true });
  const collector = new CollectorDouble();
  collector.views = manyInstances(200, 1207);
  collector.faults.push({
    code: "INSTANCE_BEHIND",
    since: noon - 95_000,
    message: "7 instances are behind: edge-008, edge-037, edge-066 and 4 more",
  });
  return { agent, collector, versions: [1206, 1207] };
}

function suite(): void {
  let browser: Browser;
  let alice: Person;
  let viewer: Person;
  const open: { stop(): void }[] = [];

  beforeAll(async () => {
    [alice, viewer] = await Promise.all([person("alice", ["routes"]), person("vera", ["view"])]);
    browser = await chromium.launch({
      executablePath: chromiumPath as string,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
    });
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  }, slow);

  afterAll(async () => {
    await browser?.close();
    for (const server of open) server.stop();
  }, slow);

  /** The address of a scene. */
  function serve({ agent, collector }: Scene): string {
    const app = appFor(agent, [alice, viewer], { collector, maximumAge: 600_000 });
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch });
    open.push({ stop: () => server.stop(true) });
    return `http://127.0.0.1:${server.port}`;
  }

  /** A tab without scripts; `options` may ask for a width and a scheme. */
  async function tabOf(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Tab> {
    const context: BrowserContext = await browser.newContext({
      javaScriptEnabled: false,
      ...options,
    });
    open.push({ stop: () => void context.close().catch(() => {}) });
    return context.newPage();
  }

  async function signIn(tab: Tab, url: string, who = alice): Promise<void> {
    await tab.goto(`${url}/`);
    await tab.fill('textarea[name="token"]', await signOperatorToken(who.key, noon));
    await tab.click('button[type="submit"]');
    await tab.waitForSelector("header.top");
  }

  /** How many pixels the page is wider than its window. */
  async function overflow(tab: Tab): Promise<number> {
    // Scripts of pages are off; measuring from outside goes on.
    const box = await tab.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
    return box;
  }

  async function shot(tab: Tab, name: string): Promise<void> {
    if (folder !== undefined)
      await tab.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }

  for (const [sceneName, scene] of [
    ["empty", empty],
    ["three", small],
    ["two-hundred", large],
  ] as const) {
    for (const { name, ...viewport } of sizes) {
      for (const colorScheme of schemes) {
        test(
          `a pool of ${sceneName}, ${name}, ${colorScheme}: nothing is cut off`,
          async () => {
            const shown = scene();
            const [from, to] = shown.versions;
            const url = serve(shown);
            const tab = await tabOf({ viewport, colorScheme });
            await signIn(tab, url);
            // Until the shares are measured, the page loads itself again.
            if (sceneName === "two-hundred") await tab.waitForSelector(".skyline");
            const paths = {
              status: "/",
              history: "/history",
              route: "/route?name=example.2ecom-m1-camera",
              simulate: `/simulate?from=${from}&to=${to}&keys=500`,
            };
            for (const [page, path] of Object.entries(paths)) {
              await tab.goto(url + path);
              expect([page, await overflow(tab)]).toEqual([page, 0]);
              await shot(tab, `${sceneName}-${page}-${name}-${colorScheme}`);
            }
            await tab.goto(`${url}/`);
            for (const details of await tab.locator("details > summary").all())
              await details.click();
            expect(await overflow(tab)).toBe(0);
            await shot(tab, `${sceneName}-open-${name}-${colorScheme}`);
            const background = await tab
              .locator("body")
              .evaluate((body) => getComputedStyle(body).backgroundColor);
            expect(background).toBe(
              colorScheme === "light" ? "rgb(246, 247, 249)" : "rgb(17, 21, 26)",
            );
          },
          slow,
        );
      }
    }
  }

  test(
    "an operator signs in, drains a relay by a form and finds it in the history",
    async () => {
      const scene = small();
      const url = serve(scene);
      const tab = await tabOf({ viewport: { width: 1280, height: 800 } });
      await tab.goto(`${url}/`);
      await shot(tab, "sign-in");
      expect(await tab.locator("body").textContent()).not.toContain("ams-1");
      await signIn(tab, url);
      expect(await tab.locator("table").first().textContent()).toContain("ams-1");
      await tab.getByRole("link", { name: "ams-1" }).click();
      await shot(tab, "relay");
      const form = tab.locator("form", { has: tab.locator('button[value="drain"]') });
      await form.locator('input[name="reason"]').fill("kernel update <tonight>");
      await form.locator('button[value="drain"]').click();
      await tab.waitForSelector(".notice");
      expect(await tab.locator(".notice").textContent()).toContain("Published as version 43.");
      expect(await tab.locator("main").textContent()).toContain("draining");
      await shot(tab, "relay-drained");
      expect(scene.agent.asked.map(({ action, authority }) => [action, authority.kind])).toEqual([
        [
          { type: "drain", rid: "616d732d31", newVersion: 43, reason: "kernel update <tonight>" },
          "session",
        ],
      ]);
      await tab.click('a:text-is("History")');
      expect(await tab.locator("table").first().textContent()).toContain("kernel update <tonight>");
      await tab.click('a:text-is("v41")');
      await shot(tab, "version");
      expect(await tab.locator("main").textContent()).toContain("yard rollback --to 41");
      await tab.click('button:text-is("Sign out")');
      await tab.goto(`${url}/history`);
      expect(await tab.locator("body").textContent()).not.toContain("v41");
    },
    slow,
  );

  test(
    "no page is wider than a screen of 320 pixels",
    async () => {
      const scene = small();
      const url = serve(scene);
      const tab = await tabOf({ viewport: { width: 320, height: 640 } });
      await signIn(tab, url);
      const [from, to] = scene.versions;
      for (const path of ["/", "/history", `/simulate?from=${from}&to=${to}&keys=1000`, "/route"]) {
        await tab.goto(`${url}${path}`);
        const width = await tab.evaluate(() => document.documentElement.scrollWidth);
        expect([path, width]).toEqual([path, 320]);
      }
    },
    slow,
  );

  test(
    "the route form explains a namespace",
    async () => {
      const tab = await tabOf();
      const url = serve(small());
      await signIn(tab, url);
      await tab.click('a:text-is("Route")');
      await tab.fill('input[name="name"]', "example.2ecom-m1");
      await tab.click('button:text-is("Explain")');
      const text = await tab.locator("main").textContent();
      expect(text).toContain("prefix example.2ecom, hashed, HRW-SHA256, key of 2 fields");
      expect(await tab.locator("tr.chosen").count()).toBe(1);
    },
    slow,
  );

  test(
    "who may only look finds no form to change anything",
    async () => {
      const tab = await tabOf();
      const url = serve(small());
      await signIn(tab, url, viewer);
      await tab.getByRole("link", { name: "ams-1" }).click();
      expect(await tab.locator('button[value="drain"]').count()).toBe(0);
      expect(await tab.locator("main").textContent()).toContain("may look at the pool");
    },
    slow,
  );
}

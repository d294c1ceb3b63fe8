/** The gateway's page in headless Chromium: light and dark, wide and narrow, without scripts. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";
import { adminApp } from "../../src/gateway/admin/app.ts";
import type { GatewayView } from "../../src/gateway/view.ts";
import { createGatewayMetrics } from "../../src/metrics/mod.ts";
import { digestOf, emptyView, largeView, smallView } from "../support/gateway-view.ts";
import { chromiumPath } from "./chromium.ts";

/** Starting a browser takes its time on a busy machine. */
const slow = 60_000;
/** A folder for screenshots, for those who want to look at the page. */
const folder = process.env.YARDMASTER_SCREENSHOTS;

if (chromiumPath === undefined) {
  console.log("no Chromium on this machine: the gateway's page is not looked at");
} else {
  describe("the gateway's page in Chromium", suite);
}

function suite(): void {
  let browser: Browser;
  const open: { stop(closeActive: boolean): unknown }[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: chromiumPath as string,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
    });
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  }, slow);

  afterAll(async () => {
    await browser?.close();
    for (const server of open) server.stop(true);
  }, slow);

  function serve(view: GatewayView): string {
    const app = adminApp({ view: () => view, metrics: createGatewayMetrics(() => view) });
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch });
    open.push(server);
    return `http://127.0.0.1:${server.port}`;
  }

  const scenes = { empty: emptyView(), three: smallView(), "two-hundred": largeView() };
  for (const [scene, view] of Object.entries(scenes)) {
    for (const { name, width } of [
      { name: "desktop", width: 1280 },
      { name: "phone", width: 390 },
    ]) {
      for (const colorScheme of ["light", "dark"] as const) {
        test(
          `${scene} connections, ${name}, ${colorScheme}: nothing is cut off`,
          async () => {
            const url = serve(view);
            const context = await browser.newContext({
              javaScriptEnabled: false,
              viewport: { width, height: 844 },
              colorScheme,
            });
            try {
              const tab = await context.newPage();
              const paths = { status: "/", client: `/?client=${digestOf("client 7")}` };
              for (const [page, path] of Object.entries(paths)) {
                await tab.goto(url + path);
                for (const summary of await tab.locator("details > summary").all()) {
                  await summary.click();
                }
                const overflow = await tab
                  .locator("html")
                  .evaluate((html) => html.scrollWidth - html.clientWidth);
                expect([page, overflow]).toEqual([page, 0]);
                if (folder !== undefined) {
                  const path = join(folder, `gateway-${scene}-${page}-${name}-${colorScheme}.png`);
                  await tab.goto(tab.url());
                  await tab.screenshot({ path, fullPage: true });
                }
              }
            } finally {
              await context.close();
            }
          },
          slow,
        );
      }
    }
  }
}

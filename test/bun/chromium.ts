/** Headless Chromium, with a page of ours in it. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { build } from "esbuild";
import { type Browser, chromium, type Page as Tab } from "playwright-core";
import { root } from "./processes.ts";

/** Where Chromium is on this machine: what `CHROMIUM` names, or where packages put it. */
export const chromiumPath: string | undefined = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path !== undefined && existsSync(path));

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface OpenPage {
  readonly tab: Tab;
  close(): Promise<void>;
}

/**
 * Opens an empty page of a secure origin, as WebTransport asks for, and runs a script in it.
 *
 * @param script TypeScript file, from the root of the project; it is bundled
 */
export async function openPage(script?: string): Promise<OpenPage> {
  if (chromiumPath === undefined) throw new Error("there is no Chromium on this machine");
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  });
  const browser: Browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
  const close = async () => {
    await browser.close();
    await server.stop(true);
  };
  try {
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${server.port}/`);
    if (script !== undefined) await tab.addScriptTag({ content: await bundled(script) });
    return { tab, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function bundled(script: string): Promise<string> {
  const bundle = await build({
    entryPoints: [join(root, script)],
    bundle: true,
    write: false,
    format: "iife",
    target: "es2022",
  });
  return (bundle.outputFiles[0] as { text: string }).text;
}

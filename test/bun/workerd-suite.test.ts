/**
 * Runs every portable suite on workerd: the files are bundled as a Worker, and each test that ran
 * there is reported here under its own name.
 */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import type { TestResult } from "../runner/workerd.ts";

const root = join(import.meta.dir, "..", "..");
const suite = join(root, "test", "suite");

async function runOnWorkerd(): Promise<TestResult[]> {
  const files = readdirSync(suite, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .sort();
  const entry = [
    ...files.map((name) => `import ${JSON.stringify(`./${name}`)};`),
    `import { runCollected } from "#test";`,
    "export default { async fetch() { return Response.json(await runCollected()); } };",
  ].join("\n");
  const bundle = await build({
    stdin: { contents: entry, resolveDir: suite, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "import"],
    external: ["node:*"],
  });
  const miniflare = new Miniflare({
    modules: true,
    script: (bundle.outputFiles[0] as { text: string }).text,
    compatibilityDate: "2026-04-01",
    compatibilityFlags: ["nodejs_compat"],
  });
  try {
    const response = await miniflare.dispatchFetch("http://suite.test/");
    if (!response.ok)
      throw new Error(`workerd answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as TestResult[];
  } finally {
    await miniflare.dispose();
  }
}

const results = await runOnWorkerd();

test("the portable suites ran on workerd", () => {
  expect(results.length).toBeGreaterThan(0);
});

for (const result of results) {
  test(`workerd: ${result.name}`, () => {
    expect(result.ok ? "ok" : result.error).toBe("ok");
  });
}

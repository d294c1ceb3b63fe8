/** workers/cloudflare.ts as the one script that workerd runs. */

import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./processes.ts";

export async function bundleWorker(): Promise<string> {
  const bundle = await build({
    entryPoints: [join(root, "workers", "cloudflare.ts")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
  });
  return (bundle.outputFiles[0] as { text: string }).text;
}

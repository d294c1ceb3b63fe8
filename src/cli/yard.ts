#!/usr/bin/env bun
/**
 * `yard`, the command line of Yardmaster. Runs on Bun (`bun src/cli/yard.ts`) and on Deno
 * (`deno run -A src/cli/yard.ts`).
 *
 * @module
 */

import process from "node:process";
import { main } from "./main.ts";

// A reader that has seen enough (`yard route ... | head -1`) is no fault of ours.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2));

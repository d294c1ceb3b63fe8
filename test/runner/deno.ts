/**
 * `#test` on Deno: node:test, which Deno reports through its own runner. That runner waits for a
 * test as long as it takes; here a test that hangs fails, as it does on Bun.
 */

import { test as nodeTest } from "node:test";

export { describe } from "node:test";

type Body = () => void | Promise<void>;

/** Milliseconds; longer than any test takes on a busy machine. */
const patience = 60_000;

export function test(name: string, body: Body): void {
  nodeTest(name, async () => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`the test did not end within ${patience} ms`);
      timer = setTimeout(() => reject(error), patience);
    });
    try {
      await Promise.race([body(), late]);
    } finally {
      clearTimeout(timer);
    }
  });
}

/** `#test` on Deno: node:test, which Deno reports through its own runner. */
export { describe, test } from "node:test";

/** `#test` on Bun: the runner's own functions. */
export { describe, test } from "bun:test";

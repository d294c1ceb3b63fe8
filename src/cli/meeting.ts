/**
 * The draft's meeting example: all of a meeting meets on one relay, meetings spread (LB-EX-5).
 *
 * @module
 */

import type { JsonSnapshot } from "../snapshot/mod.ts";

/** Namespaces are (example.com, meeting, participant); the first two fields choose the relay. */
export const meetingExample: JsonSnapshot = {
  version: 1,
  relays: ["r1", "r2", "r3"].map((rid) => ({
    rid,
    uri: `https://${rid}.example/moq`,
    health: "healthy",
  })),
  routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", "r2", "r3"] }],
};

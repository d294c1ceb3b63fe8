import assert from "node:assert/strict";
import { test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { selectRelay } from "../../../src/hrw/mod.ts";

test("a name that hits a given relay is found in about as many tries as there are relays: the hash has no key [LB-SEC-10]", () => {
  const candidates = Array.from({ length: 10 }, (_, index) => ({
    rid: utf8(`r${index}`),
    weight: 1,
  }));
  const target = candidates[3]?.rid;
  for (const profile of ["HRW-SHA256", "HRW-SHA256-64"] as const) {
    let tries = 0;
    let found = 0;
    for (; found < 100; tries++) {
      const selected = selectRelay(profile, [utf8("live"), utf8(`n${tries}`)], candidates);
      if (selected?.rid === target) found++;
    }
    // Ten on average; a hundred finds deviate from that by more than a third once in a thousand runs.
    assert.ok(tries > 700 && tries < 1400, `${profile}: ${tries} tries for ${found} names`);
  }
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { GroupAdmission, IntermediarySettings } from "../../../src/client-group/mod.ts";

const POLICY = 0xf0c2;

function underPolicy(policy: number) {
  const settings = new IntermediarySettings("h2");
  settings.receive([[POLICY, policy]]);
  return new GroupAdmission<string>(settings);
}

describe("groups of a connection", () => {
  test("are one until the first SETTINGS, even after its requests have ended [CG-PROC-4, CG-STATE-1, CG-S5, D03]", () => {
    const settings = new IntermediarySettings("h2");
    const groups = new GroupAdmission<string>(settings);
    assert.equal(groups.start("A"), true);
    assert.equal(groups.start("A"), true);
    assert.equal(groups.start("B"), false);
    groups.end("A");
    groups.end("A");
    assert.equal(groups.admits("B"), false);
    settings.receive([[POLICY, 0]]);
    assert.equal(groups.start("B"), true);
  });

  test("are any number under policy 0 [CG-SET-10]", () => {
    const groups = underPolicy(0);
    for (let i = 0; i < 1_000; i++) assert.equal(groups.start(`client ${i}`), true);
    assert.equal(groups.groupsInProgress, 1_000);
  });

  test("are the first one for life under policy 1 [CG-SET-11, CG-S9, CG-A1]", () => {
    const groups = underPolicy(1);
    assert.equal(groups.start("A"), true);
    groups.end("A");
    assert.equal(groups.start("B"), false);
    assert.equal(groups.start("A"), true);
  });

  test("under policy 1 are the one whose request went before the SETTINGS [CG-SET-11, CG-A1]", () => {
    const settings = new IntermediarySettings("h3");
    const groups = new GroupAdmission<string>(settings);
    groups.start("A");
    groups.end("A");
    settings.receive([[POLICY, 1]]);
    assert.equal(groups.admits("B"), false);
    assert.equal(groups.admits("A"), true);
  });

  test("under policy 2 are two in progress at a time, with any number of requests [CG-PROC-8, CG-S5]", () => {
    const groups = underPolicy(2);
    assert.equal(groups.start("A"), true);
    assert.equal(groups.start("B"), true);
    assert.equal(groups.start("C"), false);
    assert.equal(groups.start("B"), true);
    groups.end("B");
    assert.equal(groups.start("C"), false);
    groups.end("B");
    assert.equal(groups.start("C"), true);
    assert.equal(groups.groupsInProgress, 2);
  });

  test("are counted against a policy that no number holds [CG-S3]", () => {
    const settings = new IntermediarySettings("h3");
    settings.receive([[0xf0c2n, 2n ** 32n]]);
    const groups = new GroupAdmission<string>(settings);
    assert.equal(groups.start("A"), true);
    assert.equal(groups.start("B"), true);
  });

  test("of an origin without the draft are mixed or not, as configured [CG-PROC-7, CG-S7]", () => {
    for (const shareUnsupported of [true, false]) {
      const settings = new IntermediarySettings("h2");
      const groups = new GroupAdmission<string>(settings, { shareUnsupported });
      groups.start("A");
      settings.receive([]);
      assert.equal(groups.start("B"), shareUnsupported);
      assert.equal(groups.start("A"), true);
    }
  });

  test("are mixed where the intermediary did not offer to share [CG-SET-17]", () => {
    const settings = new IntermediarySettings("h2", { offered: false });
    const groups = new GroupAdmission<string>(settings);
    assert.equal(groups.start("A"), true);
    assert.equal(groups.start("B"), true);
    settings.receive([[POLICY, 1]]);
    assert.equal(groups.start("C"), true);
  });

  test("end no request that never began", () => {
    const groups = underPolicy(0);
    assert.throws(() => groups.end("A"), { code: "OUT_OF_ORDER" });
  });

  test("never are more in progress than the policy, nor more than one before it [CG-PROC-4, CG-PROC-8]", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("start" as const), group: fc.integer({ min: 0, max: 6 }) }),
      fc.record({ kind: fc.constant("end" as const), group: fc.integer({ min: 0, max: 6 }) }),
      fc.constant({ kind: "settings" as const, group: 0 }),
    );
    const policies = fc.integer({ min: 0, max: 4 });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), policies, (steps, policy) => {
        const settings = new IntermediarySettings("h2");
        const groups = new GroupAdmission<number>(settings);
        const running: number[] = [];
        const ever = new Set<number>();
        for (const { kind, group } of steps) {
          if (kind === "settings") settings.receive([[POLICY, policy]]);
          else if (kind === "start") {
            if (groups.start(group)) {
              running.push(group);
              ever.add(group);
            }
          } else if (running.includes(group)) {
            groups.end(group);
            running.splice(running.indexOf(group), 1);
          }
          const inProgress = new Set(running).size;
          assert.equal(groups.groupsInProgress, inProgress);
          if (settings.support === "awaited" || policy === 1) assert.ok(ever.size <= 1);
          else if (policy > 1) assert.ok(inProgress <= policy);
        }
      }),
    );
  });
});

describe("what groups of a connection have in common", () => {
  test("newcomers are admitted exactly where one that nobody knows would be, whatever came before", () => {
    const step = fc.record({
      act: fc.constantFrom("start", "end", "reserve"),
      group: fc.constantFrom("A", "B", "C"),
    });
    const agreement = fc.record({
      offered: fc.boolean(),
      policy: fc.constantFrom("awaited", "none", 0, 1, 2, 3),
      shareUnsupported: fc.boolean(),
    });
    fc.assert(
      fc.property(agreement, fc.array(step), ({ offered, policy, shareUnsupported }, steps) => {
        const settings = new IntermediarySettings("h2", { offered });
        if (policy !== "awaited") {
          settings.receive(typeof policy === "number" ? [[POLICY, policy]] : []);
        }
        const groups = new GroupAdmission<string>(settings, { shareUnsupported });
        let first: string | undefined;
        for (const { act, group } of steps) {
          if (act === "start" && groups.start(group)) first ??= group;
          else if (act === "end" && groups.inProgress(group) > 0) groups.end(group);
          else if (act === "reserve" && groups.reserve(group)) first ??= group;
          assert.equal(groups.admitsNewcomers, groups.admits("nobody knows"));
          assert.equal(groups.first, first);
        }
      }),
    );
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  codePointsWith,
  defaultCodePoints,
  IntermediarySettings,
  OriginSettings,
  offerSettings,
  settingName,
} from "../../../src/client-group/mod.ts";

const SHARED = 0xf0c1;
const POLICY = 0xf0c2;
const protocolError = { code: "PROTOCOL_ERROR", numericCode: 0x1n };
const settingsError = { code: "H3_SETTINGS_ERROR", numericCode: 0x109n };
const frameUnexpected = { code: "H3_FRAME_UNEXPECTED", numericCode: 0x105n };
const versions = ["h2", "h3"] as const;

describe("code points", () => {
  test("are in one table, the same in both versions until assigned [CG-SET-1, CG-FRAME2-12, CG-FRAME3-8]", () => {
    const numbers = {
      sharedConnection: 0xf0c1n,
      sharedConnectionPolicy: 0xf0c2n,
      groupControl: 0xf7n,
    };
    assert.deepEqual(defaultCodePoints, { h2: numbers, h3: numbers });
  });

  test("can be set for one version, and settings are told apart by them [CG-SET-1]", () => {
    const points = codePointsWith({ h3: { sharedConnection: 0x1234_5678n } });
    assert.deepEqual(points.h2, defaultCodePoints.h2);
    assert.deepEqual(offerSettings("h3", points), [[0x1234_5678n, 1n]]);
    assert.equal(settingName("h3", 0x1234_5678n, points), "SETTINGS_SHARED_CONNECTION");
    assert.equal(settingName("h3", SHARED, points), undefined);
    const origin = new OriginSettings("h3", { points });
    origin.receive([[0x1234_5678, 1]]);
    assert.equal(origin.shared, true);
  });

  test("are refused out of their range or for two things [CG-SET-1]", () => {
    for (const overrides of [
      { h2: { sharedConnection: 0x1_0000n } },
      { h2: { sharedConnectionPolicy: 0x6n } },
      { h2: { groupControl: 0x100n } },
      { h2: { groupControl: 0x7n } },
      { h3: { sharedConnection: 2n ** 62n } },
      { h3: { sharedConnection: 0xf0c2n } },
    ]) {
      assert.throws(() => codePointsWith(overrides), { code: "INVALID_CONFIGURATION" });
    }
  });

  test("have the names of their registries [CG-SET-18, CG-SET-19]", () => {
    assert.equal(settingName("h2", SHARED), "SHARED_CONNECTION");
    assert.equal(settingName("h2", POLICY), "SHARED_CONNECTION_POLICY");
    assert.equal(settingName("h3", 0xf0c1n), "SETTINGS_SHARED_CONNECTION");
    assert.equal(settingName("h3", 0xf0c2n), "SETTINGS_SHARED_CONNECTION_POLICY");
    assert.equal(settingName("h2", 0x3), undefined);
  });
});

describe("settings at the origin", () => {
  for (const version of versions) {
    test(`${version}: absent and 0 are one: not shared [CG-SET-2]`, () => {
      for (const settings of [[], [[SHARED, 0]]] as const) {
        const origin = new OriginSettings(version, { policy: 3n });
        origin.receive(settings);
        assert.equal(origin.shared, false);
        assert.equal(origin.mayControl, false);
        assert.deepEqual(origin.settingsToSend(), []);
      }
    });

    test(`${version}: POLICY answers SHARED_CONNECTION = 1, and then it may control [CG-SET-9, CG-SET-15, CG-FRAME2-2, CG-FRAME2-3]`, () => {
      const origin = new OriginSettings(version, { policy: 3n });
      origin.receive([[SHARED, 1]]);
      assert.equal(origin.mayControl, false);
      assert.deepEqual(origin.settingsToSend(), [[0xf0c2n, 3n]]);
      assert.equal(origin.mayControl, true);
    });

    test(`${version}: POLICY and what else is unknown from a client is ignored [CG-SET-14, D06, D08]`, () => {
      const origin = new OriginSettings(version, { policy: 0n });
      origin.receive([
        [POLICY, 1],
        [0xabcd, 7],
        [SHARED, 1],
      ]);
      assert.equal(origin.policy, 0n);
      assert.equal(origin.shared, true);
    });

    test(`${version}: an origin that does not take part sends nothing and controls nobody [CG-SET-5, CG-SET-12, CG-FRAME2-3]`, () => {
      const origin = new OriginSettings(version);
      origin.receive([[SHARED, 1]]);
      assert.deepEqual(origin.settingsToSend(), []);
      assert.equal(origin.mayControl, false);
    });
  }

  test("h2: SHARED_CONNECTION other than 0 and 1 is PROTOCOL_ERROR [CG-SET-3, D06]", () => {
    for (const value of [2, 3, 0xffff_ffff]) {
      assert.throws(() => new OriginSettings("h2").receive([[SHARED, value]]), protocolError);
    }
    const overwritten = [
      [SHARED, 2],
      [SHARED, 1],
    ] as const;
    assert.throws(() => new OriginSettings("h2").receive(overwritten), protocolError);
    const later = new OriginSettings("h2");
    later.receive([[SHARED, 1]]);
    assert.throws(() => later.receive([[SHARED, 2]]), protocolError);
  });

  test("h3: SHARED_CONNECTION other than 0 and 1 is H3_SETTINGS_ERROR [CG-SET-4, D06]", () => {
    for (const value of [2n, 2n ** 32n, 2n ** 62n - 1n]) {
      assert.throws(() => new OriginSettings("h3").receive([[0xf0c1n, value]]), settingsError);
    }
  });

  test("h2: the last of several in one frame counts; h3: there must be one [CG-S4, D10]", () => {
    const twice = [
      [SHARED, 1],
      [SHARED, 0],
    ] as const;
    const origin = new OriginSettings("h2");
    origin.receive(twice);
    assert.equal(origin.shared, false);
    assert.throws(() => new OriginSettings("h3").receive(twice), settingsError);
    const policies = [
      [POLICY, 1],
      [POLICY, 5],
    ] as const;
    const intermediary = new IntermediarySettings("h2");
    intermediary.receive(policies);
    assert.equal(intermediary.policy, 5n);
    assert.throws(() => new IntermediarySettings("h3").receive(policies), settingsError);
  });

  test("h2: a later frame may repeat SHARED_CONNECTION, not change it [CG-PROC-9, CG-PROC-10, CG-S10, CG-A3]", () => {
    const sharing = new OriginSettings("h2");
    sharing.receive([[SHARED, 1]]);
    sharing.receive([[SHARED, 1]]);
    sharing.receive([]);
    assert.equal(sharing.shared, true);
    assert.throws(() => sharing.receive([[SHARED, 0]]), protocolError);
    const plain = new OriginSettings("h2");
    plain.receive([]);
    plain.receive([[SHARED, 0]]);
    assert.throws(() => plain.receive([[SHARED, 1]]), protocolError);
  });

  test("h2: a server that speaks first sends POLICY to everyone; h3 waits [CG-SET-15, CG-SET-16]", () => {
    const early = new OriginSettings("h2", { policy: 3n });
    assert.deepEqual(early.settingsToSend(), [[0xf0c2n, 3n]]);
    assert.equal(early.mayControl, false);
    early.receive([[SHARED, 1]]);
    assert.equal(early.mayControl, true);
    const toPlainClient = new OriginSettings("h2", { policy: 3n });
    toPlainClient.settingsToSend();
    toPlainClient.receive([]);
    assert.equal(toPlainClient.mayControl, false);
    assert.deepEqual(new OriginSettings("h3", { policy: 3n }).settingsToSend(), []);
  });

  test("hold policies as wide as the version's settings [CG-S3]", () => {
    assert.equal(new OriginSettings("h2", { policy: 2n ** 32n - 1n }).policy, 4_294_967_295n);
    assert.equal(new OriginSettings("h3", { policy: 2n ** 62n - 1n }).policy, 2n ** 62n - 1n);
    for (const [version, policy] of [
      ["h2", 2n ** 32n],
      ["h2", -1n],
      ["h3", 2n ** 62n],
    ] as const) {
      assert.throws(() => new OriginSettings(version, { policy }), {
        code: "INVALID_CONFIGURATION",
      });
    }
  });
});

describe("settings at the intermediary", () => {
  for (const version of versions) {
    test(`${version}: it offers with SHARED_CONNECTION = 1 and never sends POLICY [CG-SET-13, CG-PROC-1]`, () => {
      assert.deepEqual(offerSettings(version), [[0xf0c1n, 1n]]);
    });

    test(`${version}: it tags from the first request on, and stops where the first SETTINGS lack POLICY [CG-SET-7, CG-SET-12, CG-PROC-2, CG-PROC-3, CG-PROC-5, CG-PROC-6, CG-S7, D04]`, () => {
      const plain = new IntermediarySettings(version);
      assert.equal(plain.support, "awaited");
      assert.equal(plain.tags, true);
      plain.receive([[0x3, 100]]);
      assert.equal(plain.support, "unsupported");
      assert.equal(plain.policy, undefined);
      assert.equal(plain.tags, false);
    });

    test(`${version}: policy 0 is support without limit, and not absence [CG-SET-10, CG-SET-12, CG-S2]`, () => {
      const settings = new IntermediarySettings(version);
      settings.receive([[POLICY, 0]]);
      assert.equal(settings.support, "supported");
      assert.equal(settings.policy, 0n);
      assert.equal(settings.tags, true);
    });

    test(`${version}: SHARED_CONNECTION from a server is ignored, whatever it says [CG-SET-6, CG-S1, CG-A2, D06]`, () => {
      for (const value of [0, 1, 2]) {
        const settings = new IntermediarySettings(version);
        settings.receive([
          [SHARED, value],
          [POLICY, 3],
        ]);
        assert.equal(settings.policy, 3n);
        assert.equal(settings.support, "supported");
      }
    });

    test(`${version}: without an offer POLICY is ignored and nothing is tagged [CG-SET-17]`, () => {
      const settings = new IntermediarySettings(version, { offered: false });
      settings.receive([[POLICY, 1]]);
      assert.equal(settings.support, "not-offered");
      assert.equal(settings.policy, undefined);
      assert.equal(settings.tags, false);
    });
  }

  test("h2: a later frame may repeat or omit POLICY, not change it [CG-PROC-9, CG-PROC-10, D05]", () => {
    const settings = new IntermediarySettings("h2");
    settings.receive([[POLICY, 2]]);
    settings.receive([[POLICY, 2]]);
    settings.receive([[0x3, 10]]);
    assert.equal(settings.policy, 2n);
    assert.throws(() => settings.receive([[POLICY, 3]]), protocolError);
    const five = new IntermediarySettings("h2");
    five.receive([[POLICY, 5]]);
    assert.throws(() => five.receive([[POLICY, 3]]), protocolError);
  });

  test("h2: POLICY that first comes in a later frame is a change, even as 0 [CG-S10, CG-A3, D04]", () => {
    for (const value of [0, 1]) {
      const settings = new IntermediarySettings("h2");
      settings.receive([]);
      assert.throws(() => settings.receive([[POLICY, value]]), protocolError);
    }
    const plain = new IntermediarySettings("h2", { offered: false });
    plain.receive([[POLICY, 1]]);
    plain.receive([[POLICY, 2]]);
    assert.equal(plain.support, "not-offered");
  });

  test("h3: a second SETTINGS frame is H3_FRAME_UNEXPECTED at both ends [CG-PROC-9, D10]", () => {
    for (const settings of [new IntermediarySettings("h3"), new OriginSettings("h3")]) {
      settings.receive([]);
      assert.throws(() => settings.receive([]), frameUnexpected);
    }
  });

  test("h3: a policy above 32 bits is kept whole [CG-S3]", () => {
    const settings = new IntermediarySettings("h3");
    settings.receive([[0xf0c2n, 2n ** 32n]]);
    assert.equal(settings.policy, 4_294_967_296n);
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  fittingViews,
  type HealthView,
  type InstanceReport,
  openReport,
  parseReport,
  signReport,
} from "../../../src/report/instance-report.ts";
import { isInstanceId } from "../../../src/report/mod.ts";
import { generateSigningKey } from "../../../src/snapshot/mod.ts";
import { reportWith, signRaw, someKey, T0 } from "./fixtures.ts";

/** What {@link parseReport} says of a report that has to be refused. */
function complaint(report: unknown): string {
  try {
    parseReport(report);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "MALFORMED_REPORT");
    return (error as Error).message;
  }
  throw new Error("the report was accepted");
}

describe("a report", () => {
  test("comes back as it was signed: age and version of the configuration, and the rest [LB-CONF-24] [LB-CONF-25]", async () => {
    const key = await someKey();
    const jws = await signReport(reportWith(), key);
    const asked: string[] = [];
    const report = await openReport(jws, (instanceId) => {
      asked.push(instanceId);
      return key.publicKey;
    });
    assert.deepEqual(asked, ["edge-1"]);
    assert.deepEqual(report, {
      instanceId: "edge-1",
      sequence: 1,
      at: 1_700_000_000_000,
      startedAt: 1_699_999_940_000,
      activeVersion: 7,
      digest: "ab".repeat(32),
      ageSeconds: 12,
      mode: "redirect",
      stale: false,
      health: [{ rid: "7231", state: "draining", at: 1_699_999_999_000 }],
      decisions: { REDIRECT: 40, UNAUTHORIZED: 2 },
      sessions: 3,
    });
  });

  test("before the first snapshot has neither version nor age [LB-CONF-25]", () => {
    const {
      digest: _,
      sessions: __,
      ...none
    } = reportWith({
      activeVersion: null,
      ageSeconds: null,
      stale: true,
    });
    assert.equal(parseReport(none).activeVersion, null);
    assert.match(complaint({ ...none, ageSeconds: 1 }), /belong together/);
    assert.match(complaint({ ...none, digest: "00".repeat(32) }), /belong together/);
    assert.match(complaint(reportWith({ ageSeconds: null })), /belong together/);
  });

  test("with anything more, less or other than its members is refused [LB-SEC-26]", () => {
    const wrong: Record<string, unknown> = {
      instanceId: "../edge",
      sequence: 0,
      at: -1,
      startedAt: 1.5,
      activeVersion: -1,
      digest: "AB".repeat(32),
      ageSeconds: Number.NaN,
      mode: "both",
      stale: "no",
      health: {},
      decisions: [],
      sessions: 2 ** 53,
    };
    for (const [name, value] of Object.entries(wrong)) {
      complaint({ ...reportWith(), [name]: value });
      if (name === "digest" || name === "sessions") continue;
      const { [name as keyof InstanceReport]: _, ...rest } = reportWith();
      complaint(rest);
    }
    assert.match(complaint({ ...reportWith(), routes: [] }), /not known here/);
    for (const value of [null, [], "report", 1]) complaint(value);
  });

  test("names no outcome but those of the closed list, with counts [LB-SEC-34]", () => {
    for (const decisions of [{ "example.com": 1 }, { REDIRECT: -1 }, { REDIRECT: 0.5 }]) {
      complaint({ ...reportWith(), decisions });
    }
    assert.match(complaint(JSON.parse('{"__proto__": {"sequence": 1}}')), /not known here/);
  });

  test("names each relay once, up to 256 of them, by RIDs of up to 256 bytes", () => {
    const view = (rid: string) => ({ rid, state: "unhealthy", at: T0 });
    const many = Array.from({ length: 256 }, (_, i) => view((0x1000 + i).toString(16)));
    assert.equal(parseReport({ ...reportWith(), health: many }).health.length, 256);
    complaint({ ...reportWith(), health: [...many, view("ff")] });
    complaint({ ...reportWith(), health: [view("7231"), view("7231")] });
    complaint({ ...reportWith(), health: [{ ...view("7231"), uri: "https://r1.example" }] });
    complaint({ ...reportWith(), health: [{ ...view("7231"), state: "healthy" }] });
    for (const rid of ["", "7", "AB", "r1", "00".repeat(257)]) {
      complaint({ ...reportWith(), health: [view(rid)] });
    }
  });

  test("leaves out the views that do not fit, drained relays before failed ones", async () => {
    const views: HealthView[] = Array.from({ length: 300 }, (_, i) => ({
      rid: (0x100000 + i).toString(16),
      state: i % 2 === 0 ? "draining" : "unhealthy",
      at: T0 + i,
    }));
    const fitting = fittingViews([{ rid: "00".repeat(300), state: "unhealthy", at: T0 }, ...views]);
    assert.ok(fitting.length > 150 && fitting.length <= 256, `${fitting.length}`);
    assert.equal(fitting.filter(({ state }) => state === "unhealthy").length, 150);
    assert.equal(fitting[0]?.at, T0 + 299);
    const key = await someKey();
    const jws = await signReport(reportWith({ health: fitting }), key);
    assert.ok(jws.length <= 16_384);
  });
});

describe("a signed report", () => {
  test("of more than 16 KiB is refused unread, and not made", async () => {
    const key = await someKey();
    const health = Array.from({ length: 256 }, (_, i) => ({
      rid: `${(0x1000 + i).toString(16)}${"00".repeat(60)}`,
      state: "unhealthy" as const,
      at: T0,
    }));
    const report = reportWith({ health });
    await assert.rejects(signReport(report, key), { code: "REPORT_TOO_LARGE" });
    let asked = false;
    const opening = openReport(await signRaw(report, key), () => {
      asked = true;
      return key.publicKey;
    });
    await assert.rejects(opening, { code: "REPORT_TOO_LARGE" });
    assert.equal(asked, false);
  });

  test("by another key than the instance's is refused [LB-CONF-18]", async () => {
    const [key, other] = [await someKey(), await generateSigningKey()];
    const jws = await signReport(reportWith(), other);
    await assert.rejects(
      openReport(jws, () => key.publicKey),
      { code: "BAD_SIGNATURE" },
    );
  });

  test("of an instance that is not known is refused [LB-CONF-18]", async () => {
    const jws = await signReport(reportWith(), await someKey());
    await assert.rejects(
      openReport(jws, () => undefined),
      { code: "UNKNOWN_INSTANCE" },
    );
  });

  test("that was changed on the way is refused [LB-CONF-19]", async () => {
    const key = await someKey();
    const [header, payload, signature] = (await signReport(reportWith(), key)).split(".");
    const changed = payload?.replace(/^./, (first) => (first === "e" ? "f" : "e"));
    for (const jws of [`${header}.${changed}.${signature}`, `${header}.${payload}.`]) {
      await assert.rejects(
        openReport(jws, () => key.publicKey),
        ({ code }: { code: string }) => code === "BAD_SIGNATURE" || code === "MALFORMED_REPORT",
      );
    }
  });

  test("has to be a JWS of its own type with EdDSA and nothing else in its header", async () => {
    const key = await someKey();
    const report = reportWith();
    const texts: unknown[] = [
      undefined,
      "",
      "a.b.c",
      await signRaw(report, key, { typ: "moq-lb-instance+jwt" }),
      await signRaw(report, key, { typ: "JWT" }),
      await signRaw(report, key, { jku: "https://keys.example" }),
      await signRaw(report, key, { kid: 7 }),
      await signRaw("not JSON", key),
      await signRaw("null", key),
    ];
    for (const jws of texts) {
      await assert.rejects(
        openReport(jws, () => key.publicKey),
        ({ code }: { code: string }) => code === "MALFORMED_REPORT" || code === "UNKNOWN_INSTANCE",
        String(jws),
      );
    }
  });
});

describe("the ID of an instance", () => {
  test("is a segment of a store's key, and nothing that leads elsewhere", () => {
    for (const id of ["a", "edge-1", "EU.west_2", "_", "x".repeat(64)]) {
      assert.equal(isInstanceId(id), true, id);
    }
    for (const id of ["", ".", "..", ".hidden", "a/b", "a:b", "a b", "é", "x".repeat(65), 7]) {
      assert.equal(isInstanceId(id), false, `${id}`);
    }
  });

  test("names relays that do not fit into their pool, each once, and no more than there is room for [LB-PSETUP-12]", async () => {
    const key = await someKey();
    const mismatches = [{ rid: "7231", at: T0 }];
    const report = reportWith({ mismatches });
    const opened = await openReport(await signReport(report, key), () => key.publicKey);
    assert.deepEqual(opened.mismatches, mismatches);
    const wrong: unknown[] = [
      {},
      [
        { rid: "7231", at: T0 },
        { rid: "7231", at: T0 },
      ],
      [{ rid: "r1", at: T0 }],
      [{ rid: "7231", at: -1 }],
      [{ rid: "7231", at: T0, draft: 22 }],
      Array.from({ length: 17 }, (_, i) => ({ rid: `72${10 + i}`, at: T0 })),
    ];
    for (const value of wrong) {
      assert.throws(() => parseReport({ ...reportWith(), mismatches: value }), {
        code: "MALFORMED_REPORT",
      });
    }
  });
});

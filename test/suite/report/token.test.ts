import assert from "node:assert/strict";
import { describe, test } from "#test";
import { instanceToken, signReport, verifyInstanceToken } from "../../../src/report/mod.ts";
import { generateSigningKey } from "../../../src/snapshot/mod.ts";
import { HOUR, reportWith, signRaw, someKey, T0 } from "./fixtures.ts";

describe("the token of an instance", () => {
  test("says who asks, to this audience, for a minute and the clocks' tolerance [LB-CONF-18]", async () => {
    const key = await someKey();
    const instances = new Map([["edge-1", key.publicKey]]);
    const token = await instanceToken("edge-1", key, T0);
    assert.deepEqual(await verifyInstanceToken(token, instances, T0), { instanceId: "edge-1" });
    const tolerance = 300_000;
    for (const now of [T0 - tolerance, T0 + 60_000 + tolerance - 1]) {
      assert.deepEqual(await verifyInstanceToken(token, instances, now), { instanceId: "edge-1" });
    }
    for (const now of [T0 - tolerance - 1, T0 + 60_000 + tolerance, T0 + HOUR, T0 - HOUR]) {
      await assert.rejects(verifyInstanceToken(token, instances, now), { code: "TOKEN_EXPIRED" });
    }
  });

  test("is refused of strangers and by other keys [LB-CONF-18]", async () => {
    const key = await someKey();
    const instances = new Map([["edge-1", key.publicKey]]);
    const stranger = await instanceToken("edge-2", key, T0);
    await assert.rejects(verifyInstanceToken(stranger, instances, T0), {
      code: "UNKNOWN_INSTANCE",
    });
    const forged = await instanceToken("edge-1", await generateSigningKey(), T0);
    await assert.rejects(verifyInstanceToken(forged, instances, T0), { code: "BAD_SIGNATURE" });
  });

  test("cannot be made good for longer, for another audience, or out of a report", async () => {
    const key = await someKey();
    const instances = new Map([["edge-1", key.publicKey]]);
    const iat = T0 / 1000;
    const claims = { sub: "edge-1", aud: "yardmaster-agent", iat, exp: iat + 60 };
    const typ = "moq-lb-instance+jwt";
    const verify = async (jws: string) => verifyInstanceToken(jws, instances, T0);
    assert.deepEqual(await verify(await signRaw(claims, key, { typ })), { instanceId: "edge-1" });
    const long = await signRaw({ ...claims, exp: iat + 61 }, key, { typ });
    await assert.rejects(verify(long), { code: "TOKEN_EXPIRED" });
    for (const wrong of [
      await signRaw({ ...claims, aud: "another" }, key, { typ }),
      await signRaw({ ...claims, scope: "all" }, key, { typ }),
      await signRaw({ ...claims, exp: "soon" }, key, { typ }),
      await signReport(reportWith(), key),
      `${await signRaw(claims, key, { typ })}${"A".repeat(2048)}`,
      "",
    ]) {
      await assert.rejects(verify(wrong), { code: "MALFORMED_TOKEN" });
    }
  });
});

/** The metrics of a gateway. Not on workerd, where prom-client does not run. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { createGatewayMetrics } from "../../src/metrics/mod.ts";
import { largeView, smallView } from "../support/gateway-view.ts";

export function metricsScenarios(): void {
  describe("the metrics of a gateway", () => {
    test("have no label that a peer could choose", async () => {
      const view = largeView();
      const metrics = createGatewayMetrics(() => view);
      for (let i = 0; i < 50; i++) {
        metrics.onRequest({
          protocol: `x${i}`,
          status: 200 + i,
          milliseconds: 1,
          generated: true,
          error: `e${i}`,
        });
        metrics.onRetry(`r${i}`);
        metrics.onRefused(`r${i}`);
        metrics.onGroupControl({ action: 10 + i, effect: `e${i}` });
        metrics.onReset("origin", `c${i}`);
      }
      const text = await metrics.render();
      assert.ok(text.split("\n").length < 150, `${text.split("\n").length} lines`);
      assert.match(
        text,
        /yardmaster_gateway_group_control_total\{action="other",effect="other"\} 50/,
      );
      assert.match(text, /yardmaster_gateway_origin_connections\{state="DRAINING"\} 23/);
      assert.match(text, /yardmaster_gateway_fleet\{state="lost"\} 1/);
      assert.match(text, /yardmaster_gateway_queued_requests 987/);
      assert.doesNotMatch(text, /example|"[0-9a-f]{16}"/);
    });

    test("look at the gateway once for all gauges", async () => {
      let looks = 0;
      const view = smallView();
      const metrics = createGatewayMetrics(() => {
        looks++;
        return view;
      });
      await metrics.render();
      assert.equal(looks, 1);
    });
  });
}

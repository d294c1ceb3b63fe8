/** @jsxImportSource hono/jsx */

/**
 * The health of a relay as a state.
 *
 * @module
 */

import { State, type Tone } from "../../../page/pieces.tsx";
import type { Health } from "../../../snapshot/mod.ts";

export const healthTones: Readonly<Record<Health, Tone>> = {
  healthy: "ok",
  draining: "warn",
  unhealthy: "bad",
};

export function HealthState({ health }: { readonly health: Health }) {
  return <State tone={healthTones[health]}>{health}</State>;
}

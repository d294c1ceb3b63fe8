/**
 * An instance from settings and stores, for the workers of each runtime.
 *
 * @module
 */

export { createInstance, type Instance, type InstanceParts } from "./instance.ts";
export type { BackendTokenSettings, ProxySettings } from "./proxy-settings.ts";
export type { ReportSettings } from "./report-settings.ts";
export { tokenSource } from "./reporting.ts";
export {
  readSessionListenSettings,
  type SessionListenSettings,
  type SessionSettings,
} from "./session-settings.ts";
export {
  type AuthorizationSettings,
  type InstanceSettings,
  type ListenSettings,
  readInstanceSettings,
  readListenSettings,
} from "./settings.ts";

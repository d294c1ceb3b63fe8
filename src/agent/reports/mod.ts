/**
 * Reports of instances on the agent's side.
 *
 * @module
 */

export { type AlarmWatchOptions, type InstanceAlarmEvent, watchAlarms } from "./alarm-watch.ts";
export {
  type Collector,
  type CollectorOptions,
  createCollector,
  type HintSink,
  type ReportCounts,
} from "./collector.ts";
export type { CurrentVersion } from "./versions.ts";
export { type InstanceAlarm, type InstanceView, instanceAlarms } from "./view.ts";

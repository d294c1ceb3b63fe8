import { equalBytes, utf8 } from "../bytes.ts";
import type { TrackNamespace } from "../moqt/mod.ts";

const DOT = 0x2e;

const reservedFields = [utf8("."), utf8(".session")];

/**
 * Whether `namespace` is one that MOQT reserves for the two ends of a session: its first field is
 * exactly `.` or `.session`. Other names that begin with a dot are like any (LB-S3, LB-S4).
 */
export function isReserved(namespace: TrackNamespace): boolean {
  const first = namespace[0];
  return first?.[0] === DOT && reservedFields.some((field) => equalBytes(field, first));
}

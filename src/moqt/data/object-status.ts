/**
 * Whether an object carries something, or says where a group or track ends.
 *
 * @module
 */

import { MoqtError } from "../errors.ts";

export type ObjectStatus = "NORMAL" | "END_OF_GROUP" | "END_OF_TRACK";

export const objectStatusCodes: Readonly<Record<ObjectStatus, bigint>> = {
  NORMAL: 0x0n,
  END_OF_GROUP: 0x3n,
  END_OF_TRACK: 0x4n,
};

const statuses: ReadonlyMap<bigint, ObjectStatus> = new Map(
  Object.entries(objectStatusCodes).map(([name, code]) => [code, name as ObjectStatus]),
);

/**
 * The status with this number.
 *
 * @param hasProperties whether the object has properties, which only a normal one may have
 * @throws {MoqtError} PROTOCOL_VIOLATION
 */
export function objectStatus(code: bigint, hasProperties: boolean): ObjectStatus {
  const status = statuses.get(code);
  if (status === undefined) {
    throw new MoqtError("PROTOCOL_VIOLATION", `Object Status ${code} is unknown`);
  }
  if (status !== "NORMAL" && hasProperties) {
    throw new MoqtError("PROTOCOL_VIOLATION", `an object with status ${status} has properties`);
  }
  return status;
}

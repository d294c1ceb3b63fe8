import { YardmasterError } from "../errors.ts";

export type HrwErrorCode =
  | "UNKNOWN_PROFILE"
  | "INVALID_HASH_KEY"
  | "INVALID_CANDIDATE"
  | "INVALID_RID"
  | "INVALID_WEIGHT"
  | "INVALID_HASH";

/** An argument of this module that no valid Routing Table can lead to. */
export class HrwError extends YardmasterError {
  declare readonly code: HrwErrorCode;

  constructor(code: HrwErrorCode, message: string) {
    super(code, message);
  }
}

/**
 * The reason of a close, which WebTransport limits to 1,024 bytes.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";

const mostReasonBytes = 1024;

/** `reason`, cut at a character so that it fits in 1,024 bytes of UTF-8. */
export function shortReason(reason: string): string {
  // A UTF-16 unit takes at most three bytes.
  if (reason.length * 3 <= mostReasonBytes) return reason;
  const bytes = utf8(reason);
  if (bytes.length <= mostReasonBytes) return reason;
  let end = mostReasonBytes;
  // 0b10xxxxxx continues a character that began before the cut.
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

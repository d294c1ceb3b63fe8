/**
 * The Client-Group request header field: a Structured Field Item of type Integer in 0..2^32-1
 * (CG-FIELD-1, RFC 9651 §3.3.1).
 *
 * @module
 */

import { parseItem } from "structured-headers";
import { checkIdentifier, isIdentifier } from "./identifier.ts";

/** The registered name as it is on the wire, in lower case (CG-FIELD-21). */
export const CLIENT_GROUP = "client-group";

/** A field line; names may be in any case. */
export interface FieldLine {
  readonly name: string;
  readonly value: string;
}

/**
 * What only an Integer begins with. The parser answers the same number for `1` and for the Decimal
 * `1.0`, and lets leading zeros go, so that the text has to be asked.
 */
const startsWithInteger = /^ *-?[0-9]{1,15}(?![0-9.])/;

/**
 * The identifier in the field's value. Parameters are ignored (CG-FIELD-3); a value that is no
 * Integer in range is ignored as a whole, and the request has no group (CG-A6, RFC 9651 §4.2).
 *
 * @param value of the field, several lines joined by commas as RFC 9110 §5.3 does; none where the
 *   request has no such field
 */
export function parseClientGroup(value: string | null | undefined): number | undefined {
  if (value === undefined || value === null || !startsWithInteger.test(value)) return undefined;
  let identifier: unknown;
  try {
    [identifier] = parseItem(value);
  } catch {
    return undefined;
  }
  // -0 is the Integer 0.
  return isIdentifier(identifier) ? identifier + 0 : undefined;
}

/**
 * The identifier that a header section names: its one Client-Group line. A second line makes the
 * field a list, which is not an Item, so that the request has no group (CG-A6).
 */
export function clientGroupOf(fields: readonly FieldLine[]): number | undefined {
  const lines = fields.filter(isClientGroup);
  return lines.length === 1 ? parseClientGroup(lines[0]?.value) : undefined;
}

/**
 * The field's value for `identifier`: decimal digits, no parameters (CG-FIELD-2).
 *
 * @throws {ClientGroupError} INVALID_IDENTIFIER
 */
export function formatClientGroup(identifier: number): string {
  checkIdentifier(identifier);
  return String(identifier + 0);
}

/**
 * The fields without Client-Group, however its name is written and however often it is there. For
 * header and trailer sections, of requests and of responses (CG-FIELD-15, CG-FIELD-18, CG-S18).
 *
 * @returns `fields` itself where there was none
 */
export function withoutClientGroup<Line extends Pick<FieldLine, "name">>(
  fields: readonly Line[],
): readonly Line[] {
  return fields.some(isClientGroup) ? fields.filter((field) => !isClientGroup(field)) : fields;
}

/**
 * A request's header section as it goes on a shared connection: one Client-Group line, ours, at the
 * end (CG-FIELD-4). Whatever the client sent of that name is gone (CG-FIELD-15).
 *
 * @throws {ClientGroupError} INVALID_IDENTIFIER
 */
export function withClientGroup(
  fields: readonly FieldLine[],
  identifier: number,
): readonly FieldLine[] {
  return [
    ...withoutClientGroup(fields),
    { name: CLIENT_GROUP, value: formatClientGroup(identifier) },
  ];
}

function isClientGroup({ name }: Pick<FieldLine, "name">): boolean {
  return name.length === CLIENT_GROUP.length && name.toLowerCase() === CLIENT_GROUP;
}

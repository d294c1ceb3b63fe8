/**
 * Field lines of a header or trailer section.
 *
 * @module
 */

/**
 * One field line. `value` holds one byte per character (0x00 to 0xff), so that every value that is
 * legal in HTTP passes unchanged.
 */
export interface Field {
  /** Lower case; pseudo-header fields begin with a colon. */
  readonly name: string;
  readonly value: string;
  /** No compression table on the way may keep it (RFC 9204 §7.1.3). Kept on what was received. */
  readonly neverIndex?: boolean;
}

/** The value of the first field called `name`, in lower case; `undefined` where there is none. */
export function firstValue(fields: readonly Field[], name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value;
}

/**
 * The values of all fields called `name`, joined as RFC 9110 §5.3 does; `undefined` where there is
 * none.
 */
export function combinedValue(fields: readonly Field[], name: string): string | undefined {
  const values = fields.filter((field) => field.name === name).map(({ value }) => value);
  return values.length === 0 ? undefined : values.join(", ");
}

/** Size of a field section as SETTINGS_MAX_FIELD_SECTION_SIZE counts it (RFC 9114 §4.2.2). */
export function fieldSectionSize(fields: readonly Field[]): number {
  return fields.reduce((sum, { name, value }) => sum + fieldSize(name.length, value.length), 0);
}

/** What one field line counts, by the bytes of its name and value. */
export function fieldSize(nameLength: number, valueLength: number): number {
  return nameLength + valueLength + 32;
}

/**
 * The error of a wrong or missing option: thrown while a balancer is being put together, never
 * while it answers.
 *
 * @module
 */

import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";

/** Code `INVALID_CONFIGURATION`; the message is one line that names what is wrong and is safe to print. */
export class ConfigurationError extends YardmasterError {
  declare readonly code: "INVALID_CONFIGURATION";

  constructor(message: string, options: YardmasterErrorOptions = {}) {
    super("INVALID_CONFIGURATION", message, options);
  }
}

/** @throws {ConfigurationError} `value` is not an integer in `minimum..maximum` */
export function requireInteger(
  option: string,
  value: number,
  minimum: number,
  maximum = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value;
  const range =
    maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `in ${minimum}..${maximum}`;
  throw new ConfigurationError(`${option} has to be an integer ${range}`);
}

/*
 * The functions below are for callers without types: an option of the wrong kind would only fail
 * under traffic.
 */

/** @throws {ConfigurationError} `value` is not an object, or none at all */
export function requireObject(option: string, value: unknown): void {
  if (typeof value === "object" && value !== null) return;
  throw new ConfigurationError(`${option} has to be an object`);
}

/** @throws {ConfigurationError} `value` is given and neither `true` nor `false` */
export function requireBoolean(option: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  throw new ConfigurationError(`${option} has to be true or false`);
}

/** @throws {ConfigurationError} `value` is given and not an array of what `isItem` accepts */
export function requireList(
  option: string,
  value: unknown,
  isItem: (item: unknown) => boolean,
  items: string,
): void {
  if (value === undefined || (Array.isArray(value) && value.every(isItem))) return;
  throw new ConfigurationError(`${option} has to be an array of ${items}`);
}

/** @throws {ConfigurationError} `value` is given and not a function */
export function requireFunction(option: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new ConfigurationError(`${option} has to be a function`);
}

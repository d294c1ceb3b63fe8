/**
 * Settings out of environment-style strings, with every problem told at once.
 *
 * @module
 */

import { ConfigurationError } from "../moq-lb/mod.ts";

export type Environment = Readonly<Record<string, unknown>>;

/** Reads values by name and keeps every problem instead of stopping at the first. */
export class SettingsReader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    const value = this.#environment[name];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
  }

  required(name: string, what: string): string {
    const value = this.text(name);
    if (value === undefined) this.problems.push(`${name} is missing: ${what}`);
    return value ?? "";
  }

  /** A decimal number in [least, most]; `fallback` where the name is not set. */
  number(name: string, least: number, most: number, fallback?: number): number {
    const value = this.text(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const number = value !== undefined && /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most)) {
      this.problems.push(`${name} has to be a number from ${least} to ${most}`);
      return least;
    }
    return number;
  }

  /** As {@link number}, but without a fraction. */
  integer(name: string, least: number, most: number, fallback?: number): number {
    const number = this.number(name, least, most, fallback);
    if (!Number.isInteger(number)) this.problems.push(`${name} has to be a whole number`);
    return number;
  }

  /** As {@link integer}, where the name is set. */
  optionalInteger(name: string, least: number, most: number): number | undefined {
    return this.text(name) === undefined ? undefined : this.integer(name, least, most);
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T | undefined {
    const value = this.text(name) ?? fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.problems.push(`${name} has to be one of ${choices.join(", ")}`);
    return found;
  }

  /** Items separated by spaces or commas; `fits` tells those that are `what` from others. */
  list(name: string, what: string, fits: (item: string) => boolean): string[] {
    const items = (this.text(name) ?? "").split(/[\s,]+/).filter((item) => item !== "");
    if (!items.every(fits)) this.problems.push(`${name} has to be a list of ${what}`);
    return items;
  }

  /** @throws {ConfigurationError} anything was missing or wrong; one line, every problem */
  finish(): void {
    if (this.problems.length > 0) throw new ConfigurationError(this.problems.join("; "));
  }
}

export function isOrigin(text: string): boolean {
  return text === "*" || (URL.canParse(text) && new URL(text).origin === text);
}

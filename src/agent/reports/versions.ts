/**
 * Since when each version is current, for as many as matter.
 *
 * @module
 */

/** What is current. */
export interface CurrentVersion {
  readonly version: number;
  /** SHA-256 of its payload, lower-case hexadecimal. */
  readonly digest?: string;
}

interface Noted extends CurrentVersion {
  readonly at: number;
}

const maximumNoted = 1024;

/** Remembers when versions were first seen, in milliseconds of a monotonic clock. */
export class VersionTimes {
  /** Rising. */
  readonly #noted: Noted[] = [];

  note(current: CurrentVersion | undefined, at: number): void {
    const last = this.#noted.at(-1);
    if (current === undefined || (last !== undefined && current.version <= last.version)) return;
    this.#noted.push({ ...current, at });
    if (this.#noted.length > maximumNoted) this.#noted.shift();
  }

  /**
   * Since when there is a version above `version`; where that is longer ago than is remembered, the
   * time that is.
   */
  since(version: number): number | undefined {
    return this.#noted.find((noted) => noted.version > version)?.at;
  }

  /** The digest that belongs to `version`, where it is known. */
  digestOf(version: number): string | undefined {
    return this.#noted.find((noted) => noted.version === version)?.digest;
  }
}

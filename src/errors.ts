/**
 * The base of every error this package throws on purpose.
 *
 * `code` is stable and part of the API; `message` says what was wrong, where, and what was
 * expected. Untrusted bytes never appear raw in a message.
 *
 * @module
 */

export interface YardmasterErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
}

export class YardmasterError extends Error {
  /** Stable identifier of the kind of fault, upper case with underscores. */
  readonly code: string;

  constructor(code: string, message: string, options: YardmasterErrorOptions = {}) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** What a thrown value says of itself; it need not be an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

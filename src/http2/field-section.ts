/**
 * Header sections and trailers as their fields come, held against RFC 9113 §8.2.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { type DecodedField, LiteralBlock } from "./hpack-decoder.ts";

/** Why nothing of a stream goes on: §8.1.1, §10.5.1, and what comes behind END_STREAM (§5.1). */
export type MessageFault = "malformed" | "too-large" | "closed";

/** RFC 9113 §8.2.1: what no name may have; and what no value may have, or begin or end with. */
const fieldName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const noValue = /[\0\r\n]|^[ \t]|[ \t]$/;

/** RFC 9113 §8.2.2. */
const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

const COLON = 0x3a;

export abstract class FieldSection {
  /** What Content-Length says, where there is one. */
  length: number | undefined;
  readonly #block = new LiteralBlock();
  /** Octets that are still left, as RFC 9113 §6.5.2 counts them. */
  #left: number;
  /** A field that is not a pseudo-header field has come. */
  #regular = false;
  #malformed = false;

  /** @param most octets of the section as RFC 9113 §6.5.2 counts them */
  constructor(most: number) {
    this.#left = most;
  }

  /** Whether all is there that has to be; asked behind the last field. */
  protected abstract readonly isComplete: boolean;

  /** Takes a pseudo-header field, before any other. @returns whether it may be there */
  protected abstract takePseudo(field: DecodedField): boolean;

  /** Takes another field, which may be in some section. @returns whether it may be in this one */
  protected takeRegular({ name, value }: DecodedField): boolean {
    if (name !== "content-length") return true;
    if (this.length !== undefined || !/^[0-9]{1,15}$/.test(value)) return false;
    this.length = Number(value);
    return true;
  }

  /** Whether a field says nothing, and does not go on. */
  protected isVoid(_field: DecodedField): boolean {
    return false;
  }

  take(field: DecodedField, neverIndexed: boolean): void {
    this.#left -= field.size;
    // The rest is decoded for the table alone.
    if (this.#malformed || this.#left < 0) return;
    if (!this.#admits(field)) this.#malformed = true;
    else if (!this.isVoid(field)) this.#block.add(field, neverIndexed);
  }

  /** What is wrong with the section; asked behind the last field. */
  get fault(): MessageFault | undefined {
    if (this.#malformed) return "malformed";
    if (this.#left < 0) return "too-large";
    return this.isComplete ? undefined : "malformed";
  }

  /** The section as a header block that needs no table. */
  get block(): Uint8Array {
    return concatBytes(...this.#block.parts);
  }

  #admits(field: DecodedField): boolean {
    if (field.name.charCodeAt(0) === COLON) {
      return !this.#regular && !noValue.test(field.value) && this.takePseudo(field);
    }
    this.#regular = true;
    field.isLegal ??= isLegal(field);
    return field.isLegal && this.takeRegular(field);
  }
}

/** Trailers, of a request or of a response. */
export class TrailerSection extends FieldSection {
  protected override readonly isComplete = true;

  protected override takePseudo(): boolean {
    return false;
  }

  /** Whatever they say of a length, nobody goes by it. */
  protected override takeRegular(): boolean {
    return true;
  }
}

function isLegal({ name, value }: DecodedField): boolean {
  if (!fieldName.test(name) || noValue.test(value) || connectionSpecific.has(name)) return false;
  return name !== "te" || value.toLowerCase() === "trailers";
}

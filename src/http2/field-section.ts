/**
 * Header sections and trailers as their fields come, held against RFC 9113 §8.2.
 *
 * @module
 */

import { connectionSpecific, legalName } from "../http3/field-rules.ts";
import type { DecodedField, LiteralBlock } from "./hpack-decoder.ts";

/** Why nothing of a stream goes on: §8.1.1, §10.5.1, and what comes behind END_STREAM (§5.1). */
export type MessageFault = "malformed" | "too-large" | "closed";

/** RFC 9113 §8.2.1: what no value may have, or begin or end with. */
const noValue = /[\0\r\n]|^[ \t]|[ \t]$/;

/**
 * RFC 9110 §9.1; RFC 3986 §3.1; §3.2 without user information (RFC 9113 §8.3.1); §3.3 and octets that are
 * not ASCII; RFC 9110 §15.
 */
const pseudoForms: ReadonlyMap<string, RegExp> = new Map([
  [":method", /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/],
  [":scheme", /^[A-Za-z][A-Za-z0-9+\-.]*$/],
  [":authority", /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]+$/],
  [":path", /^[\x21-\x7e\x80-\xff]+$/],
  [":status", /^[1-9][0-9]{2}$/],
]);
const authorityForm = pseudoForms.get(":authority") as RegExp;

const COLON = 0x3a;

export abstract class FieldSection {
  /** What Content-Length says, where there is one. */
  length: number | undefined;
  readonly #block: LiteralBlock;
  /** Octets that are still left, as RFC 9113 §6.5.2 counts them. */
  #left: number;
  /** A field that is not a pseudo-header field has come. */
  #regular = false;
  #malformed = false;
  #whole = true;

  /**
   * @param most octets of the section as RFC 9113 §6.5.2 counts them
   * @param block what goes on
   */
  constructor(most: number, block: LiteralBlock) {
    this.#left = most;
    this.#block = block;
  }

  /** Whether all is there that has to be; asked behind the last field. */
  protected abstract readonly isComplete: boolean;

  /** Takes a pseudo-header field of the right form, before any other. @returns whether it may be there */
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
    else if (this.isVoid(field)) this.#whole = false;
    else this.#block.add(field, neverIndexed);
  }

  /** Whether every field goes on. */
  get whole(): boolean {
    return this.#whole;
  }

  /** What is wrong with the section; asked behind the last field. */
  get fault(): MessageFault | undefined {
    if (this.#malformed) return "malformed";
    if (this.#left < 0) return "too-large";
    return this.isComplete ? undefined : "malformed";
  }

  #admits(field: DecodedField): boolean {
    field.isLegal ??= isLegal(field);
    if (!field.isLegal) return false;
    if (field.name.charCodeAt(0) === COLON) return !this.#regular && this.takePseudo(field);
    this.#regular = true;
    return this.takeRegular(field);
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

/** Whether there is a section that a field may be in, before or behind others. */
function isLegal({ name, value }: DecodedField): boolean {
  if (name.charCodeAt(0) === COLON) return pseudoForms.get(name)?.test(value) === true;
  if (!legalName.test(name) || noValue.test(value) || connectionSpecific.has(name)) return false;
  if (name === "te") return value.toLowerCase() === "trailers";
  return name !== "host" || authorityForm.test(value);
}

/**
 * What makes a response one (RFC 9113 §8.3.2).
 *
 * @module
 */

import { FieldSection } from "./field-section.ts";
import type { DecodedField, LiteralBlock } from "./hpack-decoder.ts";
import { MessageCheck } from "./message-check.ts";

export class ResponseCheck extends MessageCheck<ResponseSection> {
  /** Streams whose responses have no content, whatever their length says. */
  readonly #heads = new Set<number>();

  /** The request of the stream was HEAD. */
  head(streamId: number): void {
    this.#heads.add(streamId);
  }

  override forget(streamId: number): void {
    super.forget(streamId);
    this.#heads.delete(streamId);
  }

  protected override open(maxHeaderListSize: number, block: LiteralBlock): ResponseSection {
    return new ResponseSection(maxHeaderListSize, block);
  }

  protected override isInterim({ status }: ResponseSection): boolean {
    return status < 200;
  }

  protected override contentOf(streamId: number, head: ResponseSection): number | undefined {
    return this.#isEmpty(streamId, head) ? 0 : head.length;
  }

  /** Whether it has no content, whatever length it says (RFC 9110 §6.4.1). */
  #isEmpty(streamId: number, { status }: ResponseSection): boolean {
    return status === 204 || status === 304 || this.#heads.has(streamId);
  }
}

class ResponseSection extends FieldSection {
  status = 0;

  protected override get isComplete(): boolean {
    return this.status > 0;
  }

  protected override takePseudo({ name, value }: DecodedField): boolean {
    if (name !== ":status" || this.status > 0) return false;
    this.status = Number(value);
    return true;
  }

  /** RFC 9110 §8.6: a length that no sender may send, and that says nothing. */
  protected override isVoid({ name }: DecodedField): boolean {
    return name === "content-length" && (this.status < 200 || this.status === 204);
  }
}

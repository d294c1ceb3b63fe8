/**
 * What makes a request one (RFC 9113 §8.3.1, §8.5).
 *
 * @module
 */

import { FieldSection } from "./field-section.ts";
import type { DecodedField, LiteralBlock } from "./hpack-decoder.ts";
import { MessageCheck } from "./message-check.ts";

export class RequestCheck extends MessageCheck<RequestSection> {
  protected override open(maxHeaderListSize: number, block: LiteralBlock): RequestSection {
    return new RequestSection(maxHeaderListSize, block);
  }

  protected override isInterim(): boolean {
    return false;
  }

  protected override contentOf(_streamId: number, head: RequestSection): number | undefined {
    return head.length;
  }
}

class RequestSection extends FieldSection {
  #method: string | undefined;
  #scheme: string | undefined;
  #authority: string | undefined;
  #path: string | undefined;
  #hasHost = false;

  protected override get isComplete(): boolean {
    const path = this.#path;
    if (this.#method === "CONNECT") {
      return this.#authority !== undefined && path === undefined && this.#scheme === undefined;
    }
    if (this.#method === undefined || this.#scheme === undefined || path === undefined)
      return false;
    if (this.#authority === undefined && !this.#hasHost) return false;
    return path.startsWith("/") || (path === "*" && this.#method === "OPTIONS");
  }

  protected override takePseudo({ name, value }: DecodedField): boolean {
    switch (name) {
      case ":method":
        if (this.#method !== undefined) return false;
        this.#method = value;
        return true;
      case ":scheme":
        if (this.#scheme !== undefined) return false;
        this.#scheme = value;
        return true;
      case ":authority":
        if (this.#authority !== undefined) return false;
        this.#authority = value;
        return true;
      case ":path":
        if (this.#path !== undefined) return false;
        this.#path = value;
        return true;
      default:
        return false;
    }
  }

  protected override takeRegular(field: DecodedField): boolean {
    if (field.name !== "host") return super.takeRegular(field);
    if (this.#hasHost) return false;
    this.#hasHost = true;
    return true;
  }
}

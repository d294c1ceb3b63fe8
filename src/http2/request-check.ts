/**
 * What makes a request one (RFC 9113 §8.3.1, §8.5).
 *
 * @module
 */

import { FieldSection } from "./field-section.ts";
import type { DecodedField } from "./hpack-decoder.ts";
import { MessageCheck } from "./message-check.ts";

/** RFC 9110 §9.1; RFC 3986 §3.1; §3.2 without user information; §3.3, and octets that are not ASCII. */
const forms: ReadonlyMap<string, RegExp> = new Map([
  [":method", /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/],
  [":scheme", /^[A-Za-z][A-Za-z0-9+\-.]*$/],
  [":authority", /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]+$/],
  [":path", /^[\x21-\x7e\x80-\xff]+$/],
]);
const authorityForm = forms.get(":authority") as RegExp;

export class RequestCheck extends MessageCheck<RequestSection> {
  protected override open(maxHeaderListSize: number): RequestSection {
    return new RequestSection(maxHeaderListSize);
  }

  protected override isInterim(): boolean {
    return false;
  }

  protected override contentOf(_streamId: number, head: RequestSection): number | undefined {
    return head.length;
  }
}

class RequestSection extends FieldSection {
  readonly #pseudo = new Map<string, string>();
  #hasHost = false;

  protected override get isComplete(): boolean {
    const method = this.#pseudo.get(":method");
    const path = this.#pseudo.get(":path");
    const hasAuthority = this.#pseudo.has(":authority");
    const hasScheme = this.#pseudo.has(":scheme");
    if (method === undefined) return false;
    if (method === "CONNECT") return hasAuthority && path === undefined && !hasScheme;
    if (path === undefined || !hasScheme || !(hasAuthority || this.#hasHost)) return false;
    return path.startsWith("/") || (path === "*" && method === "OPTIONS");
  }

  protected override takePseudo({ name, value }: DecodedField): boolean {
    if (this.#pseudo.has(name) || forms.get(name)?.test(value) !== true) return false;
    this.#pseudo.set(name, value);
    return true;
  }

  protected override takeRegular(field: DecodedField): boolean {
    if (field.name !== "host") return super.takeRegular(field);
    if (this.#hasHost || !authorityForm.test(field.value)) return false;
    this.#hasHost = true;
    return true;
  }
}

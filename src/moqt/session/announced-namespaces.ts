/**
 * The namespaces that the peer has announced on the stream of one SUBSCRIBE_NAMESPACE.
 *
 * @module
 */

import { MoqtError } from "../errors.ts";
import { nameProblem, type TrackNamespace } from "../name.ts";
import { formatName } from "../name-text.ts";

/**
 * Suffixes count from the prefix in force, which an accepted update may move: whole namespaces are
 * remembered, so that what was announced under the former prefix can still be withdrawn.
 */
export class AnnouncedNamespaces {
  #prefix: TrackNamespace;
  /** The prefixes that unanswered updates ask for, in order; `undefined` where one asks for none. */
  readonly #asked: (TrackNamespace | undefined)[] = [];
  readonly #active = new Set<string>();

  constructor(prefix: TrackNamespace) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#active.size;
  }

  /** @throws {MoqtError} PROTOCOL_VIOLATION where prefix and suffix make no namespace */
  announce(suffix: TrackNamespace): void {
    this.#active.add(this.#key(suffix));
  }

  /** @throws {MoqtError} PROTOCOL_VIOLATION where the namespace was not announced */
  withdraw(suffix: TrackNamespace): void {
    if (this.#active.delete(this.#key(suffix))) return;
    throw new MoqtError("PROTOCOL_VIOLATION", "NAMESPACE_DONE comes before its NAMESPACE");
  }

  /** An update was sent, which may ask for another prefix. */
  ask(prefix: TrackNamespace | undefined): void {
    this.#asked.push(prefix);
  }

  /** The oldest unanswered update was granted or refused. */
  answered(granted: boolean): void {
    const prefix = this.#asked.shift();
    if (granted && prefix !== undefined) this.#prefix = prefix;
  }

  #key(suffix: TrackNamespace): string {
    const namespace = [...this.#prefix, ...suffix];
    const problem = nameProblem(namespace);
    if (problem !== undefined) throw new MoqtError("PROTOCOL_VIOLATION", problem);
    return formatName(namespace);
  }
}

/**
 * Who cares for the namespaces under which prefix.
 *
 * @module
 */

import { hasPrefix, type TrackNamespace } from "../moqt/mod.ts";

export class PrefixTable<Listener> {
  readonly #entries = new Set<{ readonly prefix: TrackNamespace; readonly listener: Listener }>();

  /** @returns takes it out again */
  add(prefix: TrackNamespace, listener: Listener): () => void {
    const entry = { prefix, listener };
    this.#entries.add(entry);
    return () => this.#entries.delete(entry);
  }

  /** Everybody whose prefix `namespace` starts with. */
  matching(namespace: TrackNamespace): Listener[] {
    return [...this.#entries]
      .filter(({ prefix }) => hasPrefix(namespace, prefix))
      .map(({ listener }) => listener);
  }
}

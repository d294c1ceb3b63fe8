/**
 * Which namespaces have publishers, told as changes.
 *
 * @module
 */

import { formatName, type TrackNamespace } from "../moqt/mod.ts";

/** A namespace has publishers, or has none any more. */
export interface NamespaceChange {
  readonly type: "NAMESPACE" | "NAMESPACE_DONE";
  /** The whole of it, prefix included. */
  readonly trackNamespace: TrackNamespace;
}

/** Whoever says that a namespace has publishers: a request, for instance. */
type Source = object;

/**
 * A namespace is active while at least one source says so. One reader gets the changes; a namespace
 * that goes before its coming was read is never told of, so that what waits is bounded by what is
 * active, however slow the reader.
 */
export class NamespaceChanges implements AsyncIterableIterator<NamespaceChange, undefined> {
  readonly #active = new Map<string, { trackNamespace: TrackNamespace; sources: Set<Source> }>();
  readonly #unread = new Map<string, NamespaceChange>();
  readonly #onReturn: () => void;
  #wake = Promise.withResolvers<void>();
  #end: { readonly error: unknown } | undefined;

  /** @param onReturn the reader wants no more, as by `break` in `for await` */
  constructor(onReturn: () => void = () => {}) {
    this.#onReturn = onReturn;
  }

  add(source: Source, trackNamespace: TrackNamespace): void {
    const key = formatName(trackNamespace);
    const known = this.#active.get(key);
    if (known !== undefined) known.sources.add(source);
    else {
      this.#active.set(key, { trackNamespace, sources: new Set([source]) });
      this.#changed(key, { type: "NAMESPACE", trackNamespace });
    }
  }

  remove(source: Source, trackNamespace: TrackNamespace): void {
    const key = formatName(trackNamespace);
    const known = this.#active.get(key);
    if (known === undefined || !known.sources.delete(source) || known.sources.size > 0) return;
    this.#active.delete(key);
    this.#changed(key, { type: "NAMESPACE_DONE", trackNamespace });
  }

  /** `source` says nothing any more. */
  removeAll(source: Source): void {
    for (const { trackNamespace } of [...this.#active.values()])
      this.remove(source, trackNamespace);
  }

  /** Nothing changes any more. The reader still gets what is unread, then the end or `error`. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake.resolve();
  }

  async next(): Promise<IteratorResult<NamespaceChange, undefined>> {
    for (;;) {
      const [first] = this.#unread;
      if (first !== undefined) {
        this.#unread.delete(first[0]);
        return { value: first[1], done: false };
      }
      if (this.#end !== undefined) {
        const { error } = this.#end;
        this.#end = { error: undefined };
        if (error !== undefined) throw error;
        return { value: undefined, done: true };
      }
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }

  async return(): Promise<IteratorResult<NamespaceChange, undefined>> {
    this.#unread.clear();
    this.end();
    this.#onReturn();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A change that undoes one which nobody has read leaves nothing to tell. */
  #changed(key: string, change: NamespaceChange): void {
    if (!this.#unread.delete(key) && this.#end === undefined) this.#unread.set(key, change);
    this.#wake.resolve();
  }
}

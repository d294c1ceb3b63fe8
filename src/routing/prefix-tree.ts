import { equalBytes } from "../bytes.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import { HASH_OF_NOTHING, hashBytes } from "./byte-hash.ts";

interface Node<Value> {
  readonly parent: Node<Value> | undefined;
  /** The last field of the prefix that leads here; the parents have the others. */
  readonly field: Uint8Array;
  /** The next node at the same place. */
  readonly next: Node<Value> | undefined;
  value: Value | undefined;
}

/**
 * Values by namespace prefix: a tree with one node for each field, compared byte by byte and in
 * whole fields (LB-KEY-14, LB-S13). A look-up takes at most one probe for each field of the
 * namespace, whatever number of prefixes there is (LB-SEC-27).
 *
 * All nodes are in one map, at the hash of the fields up to theirs. Prefixes come from the
 * snapshot, so nobody outside can pile nodes up in one place.
 */
export class PrefixTree<Value> {
  readonly #root: Node<Value> = newNode(undefined, new Uint8Array(), undefined);
  readonly #nodes = new Map<number, Node<Value>>();

  /** Keeps the fields of `prefix` themselves: they are not to be written to. */
  set(prefix: TrackNamespace, value: Value): void {
    let node = this.#root;
    let hash = HASH_OF_NOTHING;
    for (const field of prefix) {
      hash = hashBytes(field, hash);
      node = this.#child(node, field, hash) ?? this.#addChild(node, field, hash);
    }
    node.value = value;
  }

  /** The value of the longest prefix that `namespace` starts with (LB-TABLE-9..11). */
  longestMatch(namespace: TrackNamespace): Value | undefined {
    let node = this.#root;
    let longest = node.value;
    let hash = HASH_OF_NOTHING;
    for (let i = 0; i < namespace.length; i++) {
      const field = namespace[i] as Uint8Array;
      hash = hashBytes(field, hash);
      const child = this.#child(node, field, hash);
      if (child === undefined) break;
      node = child;
      longest = node.value ?? longest;
    }
    return longest;
  }

  #child(parent: Node<Value>, field: Uint8Array, hash: number): Node<Value> | undefined {
    let node = this.#nodes.get(placeOf(hash));
    while (node !== undefined && !(node.parent === parent && equalBytes(node.field, field))) {
      node = node.next;
    }
    return node;
  }

  #addChild(parent: Node<Value>, field: Uint8Array, hash: number): Node<Value> {
    const place = placeOf(hash);
    const node = newNode(parent, field, this.#nodes.get(place));
    this.#nodes.set(place, node);
    return node;
  }
}

function newNode<Value>(
  parent: Node<Value> | undefined,
  field: Uint8Array,
  next: Node<Value> | undefined,
): Node<Value> {
  return { parent, field, next, value: undefined };
}

/** 30 bits of a hash: an integer that engines keep without making an object. */
function placeOf(hash: number): number {
  return hash >>> 2;
}

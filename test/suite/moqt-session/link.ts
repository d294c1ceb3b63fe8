/** Two cores joined by a network that delivers what it likes, when it likes. */

import assert from "node:assert/strict";
import { concatBytes } from "../../../src/bytes.ts";
import type {
  Action,
  SessionCore,
  SessionEvent,
  StreamHandle,
  StreamKind,
} from "../../../src/moqt/mod.ts";

/** What one end sends on one stream, on its way to the other. */
interface Direction {
  bytes: Uint8Array;
  fin: boolean;
  reset: bigint | undefined;
  /** STOP_SENDING, on its way against the direction. */
  stop: bigint | undefined;
  /** FIN or a reset was delivered, or the receiver reads no more. */
  isOver: boolean;
}

interface Stream {
  readonly kind: StreamKind;
  /** What each end calls it; the end that did not open it calls it something once it sees it. */
  readonly handles: (StreamHandle | undefined)[];
  /** By the end that sends. */
  readonly directions: readonly Direction[];
}

/** Any number less than `below`. */
export type Choose = (below: number) => number;

/** One end: its core, and what it has told. */
export interface End {
  readonly core: SessionCore;
  readonly events: SessionEvent[];
  readonly closes: Action[];
}

export class Link {
  readonly ends: readonly [End, End];
  readonly #streams: Stream[] = [];
  #nextHandle = 0;

  constructor(first: SessionCore, second: SessionCore) {
    this.ends = [
      { core: first, events: [], closes: [] },
      { core: second, events: [], closes: [] },
    ];
  }

  /** Carries out what the end `index` asks for. */
  take(index: number, actions: readonly Action[]): void {
    const end = this.ends[index] as End;
    for (const action of actions) {
      if (action.type === "emit") end.events.push(action.event);
      else if (action.type === "close") end.closes.push(action);
      else if (action.type === "open") this.#open(index, action.stream, action.kind);
      else this.#act(index, action);
    }
  }

  /**
   * Delivers something, in pieces as chosen.
   *
   * @returns whether there was something
   */
  deliver(choose: Choose): boolean {
    const pending = this.#streams.flatMap((stream) =>
      [0, 1].filter((from) => isPending(stream, from)).map((from) => ({ stream, from })),
    );
    const chosen = pending[pending.length === 0 ? 0 : choose(pending.length)];
    if (chosen === undefined) return false;
    const { stream, from } = chosen;
    const direction = stream.directions[from] as Direction;
    if (direction.stop !== undefined && (isQuiet(direction) || choose(2) === 0)) {
      const code = direction.stop;
      direction.stop = undefined;
      const handle = stream.handles[from];
      if (handle !== undefined) this.#tell(from, (core) => core.streamStopped(handle, code, 0));
    } else this.#deliverTo(1 - from, stream, direction, choose);
    return true;
  }

  #deliverTo(to: number, stream: Stream, direction: Direction, choose: Choose): void {
    const handle = this.#see(to, stream);
    if (direction.reset !== undefined) {
      const code = direction.reset;
      direction.isOver = true;
      this.#tell(to, (core) => core.streamReset(handle, code, 0));
      return;
    }
    const length = direction.bytes.length === 0 ? 0 : 1 + choose(direction.bytes.length);
    const piece = direction.bytes.slice(0, length);
    direction.bytes = direction.bytes.slice(length);
    const fin = direction.fin && direction.bytes.length === 0 && (length === 0 || choose(2) === 0);
    if (fin) direction.isOver = true;
    this.#tell(to, (core) => core.streamData(handle, piece, fin, 0));
  }

  /** The handle of a stream at the end `index`, which may see it for the first time. */
  #see(index: number, stream: Stream): StreamHandle {
    const known = stream.handles[index];
    if (known !== undefined) return known;
    const handle = this.#nextHandle++;
    stream.handles[index] = handle;
    this.#tell(index, (core) => core.streamOpened(handle, stream.kind, 0));
    return handle;
  }

  #tell(index: number, tell: (core: SessionCore) => readonly Action[]): void {
    this.take(index, tell((this.ends[index] as End).core));
  }

  #open(index: number, handle: StreamHandle, kind: StreamKind): void {
    const handles: (StreamHandle | undefined)[] = [undefined, undefined];
    handles[index] = handle;
    const silent = { ...newDirection(), isOver: kind === "uni" };
    const directions = index === 0 ? [newDirection(), silent] : [silent, newDirection()];
    this.#streams.push({ kind, handles, directions });
  }

  #act(index: number, action: Exclude<Action, { type: "emit" | "close" | "open" }>): void {
    const stream = this.#streams.find(({ handles }) => handles[index] === action.stream);
    assert.ok(stream, `${action.type} on a stream that is not there`);
    const ours = stream.directions[index] as Direction;
    const theirs = stream.directions[1 - index] as Direction;
    if (action.type === "stop") {
      // What the peer sends from now on arrives nowhere.
      if (!theirs.isOver) theirs.stop = action.code;
      theirs.isOver = true;
      return;
    }
    assert.ok(!ours.fin && ours.reset === undefined, `${action.type} after the end of a stream`);
    if (action.type === "reset") {
      ours.reset = action.code;
      ours.bytes = new Uint8Array(0);
    } else {
      ours.bytes = concatBytes(ours.bytes, action.bytes);
      ours.fin = action.fin;
    }
  }
}

function newDirection(): Direction {
  return { bytes: new Uint8Array(0), fin: false, reset: undefined, stop: undefined, isOver: false };
}

function isQuiet({ bytes, fin, reset, isOver }: Direction): boolean {
  return isOver || (bytes.length === 0 && !fin && reset === undefined);
}

/** Whether something of what `from` sends, or a STOP_SENDING for it, is on its way. */
function isPending(stream: Stream, from: number): boolean {
  const direction = stream.directions[from] as Direction;
  return direction.stop !== undefined || !isQuiet(direction);
}

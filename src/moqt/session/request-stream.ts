/**
 * The state of one request: what has gone which way on its stream, and so what may follow.
 *
 * @module
 */

import type { ControlMessage, MessageType, RequestContext, RequestType } from "../message.ts";
import { StreamBuffer } from "../stream-buffer.ts";
import type { AnnouncedNamespaces } from "./announced-namespaces.ts";
import { type RequestRules, requestRules, type Side } from "./request-rules.ts";
import type { StreamHandle } from "./stream-handle.ts";
import type { Subscription, TrackKey } from "./track-aliases.ts";

/** One direction of a request stream. */
interface Direction {
  /** FIN. */
  finished: boolean;
  goaway: boolean;
  /** PUBLISH_DONE, or REQUEST_ERROR to the request: no message follows. */
  lastSent: boolean;
  /** How many updates of this direction are not answered. */
  unansweredUpdates: number;
  /** An update was refused: the refusal may stand for other updates too. */
  updateRefused: boolean;
}

/**
 * One request, of ours or the peer's. It decides and remembers; it sends nothing.
 */
export class RequestStream {
  readonly stream: StreamHandle;
  readonly type: RequestType;
  readonly rules: RequestRules;
  /** Which side we are. */
  readonly side: Side;
  /** What has come from the peer. */
  readonly buffer: StreamBuffer;
  /** Of a SUBSCRIBE of ours: the track, whose alias comes with the answer. */
  track?: TrackKey;
  /** Of a PUBLISH of the peer: what it will be if we accept. */
  offered?: Subscription;
  /** Once it is a subscription that the peer publishes for. */
  established?: Subscription;
  /** Of a SUBSCRIBE_NAMESPACE of ours. */
  announced?: AnnouncedNamespaces;
  readonly #directions: Readonly<Record<Side, Direction>> = {
    requester: newDirection(),
    responder: newDirection(),
  };
  #answer: "GRANTED" | "REFUSED" | undefined;

  constructor(
    stream: StreamHandle,
    type: RequestType,
    side: Side,
    buffer: StreamBuffer = new StreamBuffer(),
  ) {
    this.stream = stream;
    this.type = type;
    this.rules = requestRules[type];
    this.side = side;
    this.buffer = buffer;
  }

  get peer(): Side {
    return otherSide(this.side);
  }

  get answer(): "GRANTED" | "REFUSED" | undefined {
    return this.#answer;
  }

  hasFinished(side: Side): boolean {
    return this.#directions[side].finished;
  }

  unansweredUpdatesOf(side: Side): number {
    return this.#directions[side].unansweredUpdates;
  }

  /**
   * Whether `sender` may send a message of `type` now.
   *
   * @returns what the message belongs to, or what is wrong with it
   */
  place(sender: Side, type: MessageType): RequestContext | string {
    const { rules } = this;
    const direction = this.#directions[sender];
    if (direction.finished || direction.lastSent) return `${type} comes after the last message`;
    const unanswered = sender === "responder" && this.#answer === undefined;
    if (unanswered && (type === rules.granted || type === "REQUEST_ERROR")) {
      return { answers: this.type };
    }
    if (type === "REQUEST_OK" || type === "REQUEST_ERROR") {
      const { unansweredUpdates } = this.#directions[otherSide(sender)];
      return unansweredUpdates > 0
        ? { answers: "REQUEST_UPDATE" }
        : `${type} answers nothing on the stream of a ${this.type}`;
    }
    if (!rules[sender].includes(type)) {
      return `the ${sender} of a ${this.type} cannot send ${type}`;
    }
    if (unanswered && (type !== "GOAWAY" || rules.answerComesFirst === true)) {
      return `${type} comes before the answer to a ${this.type}`;
    }
    if (type === "GOAWAY" && direction.goaway) return "GOAWAY is repeated";
    return type === "REQUEST_UPDATE" ? { updates: this.type } : {};
  }

  /** Remembers that `sender` sent `message`, which `place` has allowed. */
  note(sender: Side, { type }: Pick<ControlMessage, "type">, { answers }: RequestContext): void {
    const direction = this.#directions[sender];
    if (answers === "REQUEST_UPDATE") {
      const other = this.#directions[otherSide(sender)];
      other.unansweredUpdates--;
      if (type === "REQUEST_ERROR") other.updateRefused = true;
    } else if (answers !== undefined) {
      this.#answer = type === "REQUEST_ERROR" ? "REFUSED" : "GRANTED";
      direction.lastSent = type === "REQUEST_ERROR" || this.type === "TRACK_STATUS";
    } else if (type === "REQUEST_UPDATE") direction.unansweredUpdates++;
    else if (type === "GOAWAY") direction.goaway = true;
    else if (type === "PUBLISH_DONE") direction.lastSent = true;
  }

  noteFinish(sender: Side): void {
    this.#directions[sender].finished = true;
  }

  /** Whether `sender` has to send something more before it may end its direction. */
  owes(sender: Side): boolean {
    if (this.#directions[sender].lastSent) return false;
    if (sender === "responder" && this.#answer === undefined) return true;
    if (sender === this.rules.publisher && this.#answer !== "REFUSED") return true;
    // Who has said the last word does not wait for answers any more.
    const { unansweredUpdates, updateRefused, lastSent } = this.#directions[otherSide(sender)];
    return unansweredUpdates > 0 && !updateRefused && !lastSent;
  }

  /** What `owes` will say when `sender` has sent `message`, which `place` has allowed. */
  owesAfter(sender: Side, message: Pick<ControlMessage, "type">, context: RequestContext): boolean {
    const later = new RequestStream(this.stream, this.type, this.side);
    later.#answer = this.#answer;
    for (const side of sides) Object.assign(later.#directions[side], this.#directions[side]);
    later.note(sender, message, context);
    return later.owes(sender);
  }

  /** Whether `sender` has said all that it can ever say. */
  hasSaidAll(sender: Side): boolean {
    return this.#directions[sender].lastSent;
  }

  /**
   * The side whose FIN completes the request: who publishes by PUBLISH, else the responder. The
   * other side may end its direction long before, and has nothing to say afterwards.
   */
  get decider(): Side {
    return this.type === "PUBLISH" && this.#answer !== "REFUSED" ? "requester" : "responder";
  }
}

const sides: readonly Side[] = ["requester", "responder"];

export function otherSide(side: Side): Side {
  return side === "requester" ? "responder" : "requester";
}

function newDirection(): Direction {
  return {
    finished: false,
    goaway: false,
    lastSent: false,
    unansweredUpdates: 0,
    updateRefused: false,
  };
}

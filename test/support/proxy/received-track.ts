/**
 * One track as its subscriber gets it: what came, in what pieces, and everything about it that must
 * not be.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  type MessageOf,
  type ObjectDatagram,
  publishDoneName,
  SubgroupReader,
  streamResetName,
} from "../../../src/moqt/mod.ts";
import { QuicClosed, StreamReset } from "../../../src/quic/errors.ts";
import type {
  IncomingDataStream,
  RequestEnd,
  RequestGoaway,
  RequestNews,
  SessionRequest,
} from "../../../src/session/mod.ts";
import { contentFault } from "./content.ts";

/** One data stream. */
export interface ReceivedUnit {
  readonly group: number;
  /** Complete objects that came on it. */
  objects: number;
  end: "open" | "FIN" | "closed" | bigint;
}

export class ReceivedTrack {
  readonly name: string;
  readonly request: SessionRequest;
  readonly units: ReceivedUnit[] = [];
  readonly datagrams: { readonly group: number; readonly object: number }[] = [];
  /** What came that should not have. */
  readonly faults: string[] = [];
  readonly goaways: RequestGoaway[] = [];
  readonly news: RequestNews[] = [];
  done: MessageOf<"PUBLISH_DONE"> | undefined;
  end: RequestEnd | undefined;
  /** Whether streams that come from now on are left unread. */
  isPaused = false;
  /** Told of each object. */
  onObject: ((group: number, object: number, payload: Uint8Array) => void) | undefined;
  /** Told of each group that has ended. */
  onGroupEnd: ((group: number) => void) | undefined;
  /** Streams that were left unread. */
  readonly #unread: (() => void)[] = [];
  #changed = Promise.withResolvers<void>();

  constructor(name: string, request: SessionRequest) {
    this.name = name;
    this.request = request;
    request.onMessage = (message) => {
      this.news.push(message);
      if (message.type === "PUBLISH_DONE") this.done = message;
      this.changed();
    };
    request.onGoaway = (goaway) => {
      this.goaways.push(goaway);
      this.changed();
    };
    void request.ended.then((end) => {
      this.end = end;
      this.changed();
    });
  }

  /** Complete objects in all. */
  get objects(): number {
    return this.units.reduce((sum, { objects }) => sum + objects, 0);
  }

  /** Group IDs, in the order in which they began. */
  get groups(): number[] {
    return this.units.map(({ group }) => group);
  }

  onStream({ header, headerLength, stream }: IncomingDataStream): void {
    assert.ok(header.type === "SUBGROUP");
    const { subgroupId = 0n } = header;
    const group = Number(header.groupId);
    if (this.units.some((unit) => unit.group === group)) {
      this.faults.push(`${this.name}: group ${group} came twice`);
    }
    if (subgroupId !== 0n || header.publisherPriority !== 7 || !header.endOfGroup) {
      this.faults.push(`${this.name}: group ${group}: another header than was published`);
    }
    const unit: ReceivedUnit = { group, objects: 0, end: "open" };
    this.units.push(unit);
    this.changed();
    const reader = new SubgroupReader(header);
    const read = async () => {
      let skip = headerLength;
      try {
        for (let part = await stream.read(); part !== null; part = await stream.read()) {
          const skipped = Math.min(skip, part.length);
          skip -= skipped;
          for (const object of reader.push(part.subarray(skipped))) {
            const id = Number(object.objectId);
            if (id !== unit.objects) this.faults.push(`${this.name}: object ${id} of ${group}`);
            this.#note(group, id, object.payload);
            unit.objects++;
          }
          this.changed();
        }
        reader.end();
        unit.end = "FIN";
        this.onGroupEnd?.(group);
      } catch (error) {
        if (error instanceof StreamReset) unit.end = error.applicationCode;
        else if (error instanceof QuicClosed) unit.end = "closed";
        else this.faults.push(`${this.name}: group ${group}: ${error}`);
      }
      this.changed();
    };
    if (this.isPaused) this.#unread.push(() => void read());
    else void read();
  }

  onDatagram({ groupId, objectId, payload }: ObjectDatagram): void {
    const [group, object] = [Number(groupId), Number(objectId)];
    this.datagrams.push({ group, object });
    this.#note(group, object, payload);
    this.changed();
  }

  /** Reads what was left unread, and all that follows. */
  resume(): void {
    this.isPaused = false;
    for (const read of this.#unread.splice(0)) read();
  }

  /** Waits for something of it; says what there was where it does not come. */
  async until(what: string, holds: (track: ReceivedTrack) => boolean): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what}: not within 20 s; ${this}`)), 20_000);
    });
    try {
      while (!holds(this)) await Promise.race([this.#changed.promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until all objects of a group are there and its stream has ended. */
  async whole(group: number): Promise<void> {
    await this.until(`${this.name}: group ${group}`, ({ units }) =>
      units.some((unit) => unit.group === group && unit.end === "FIN"),
    );
  }

  /** Asserts that all that came was published, that nothing came twice, and how things ended. */
  check(): void {
    assert.deepEqual(this.faults, []);
    for (const { end, group } of this.units) {
      if (typeof end !== "bigint") continue;
      assert.ok(streamResetName(end), `${this.name}: group ${group} was reset with ${end}`);
    }
    if (this.done !== undefined) {
      assert.ok(publishDoneName(this.done.statusCode), `PUBLISH_DONE ${this.done.statusCode}`);
    }
    const { end } = this;
    if (end?.how === "cancelled" && end.code !== undefined) {
      assert.ok(streamResetName(end.code), `${this.name}: the request was reset with ${end.code}`);
    }
  }

  toString(): string {
    const units = this.units.map(({ group, objects, end }) => `${group}:${objects}:${end}`);
    const { how = "open" } = this.end ?? {};
    const done = this.done === undefined ? "" : `, done ${this.done.statusCode}`;
    return `${this.name} [${units.join(" ")}] ${how}${done}`;
  }

  changed(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #note(group: number, object: number, payload: Uint8Array): void {
    const fault = contentFault(this.name, group, object, payload);
    if (fault !== undefined) this.faults.push(fault);
    this.onObject?.(group, object, payload);
  }
}

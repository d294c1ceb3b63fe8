/**
 * Tracks as they are published, whichever relay somebody asks for them: relays of one network have
 * the same objects.
 *
 * @module
 */

import { payloadOf } from "./content.ts";

export interface OriginGroup {
  readonly objects: readonly Uint8Array[];
  readonly isEnded: boolean;
}

export class OriginTrack {
  /** Name in text form. */
  readonly name: string;
  readonly #groups: { objects: Uint8Array[]; isEnded: boolean }[] = [];
  #changed = Promise.withResolvers<void>();

  constructor(name: string) {
    this.name = name;
  }

  /** By Group ID. */
  get groups(): readonly OriginGroup[] {
    return this.#groups;
  }

  /** Resolves when something has been published. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Ends the group that is open, and begins the next. @returns its Group ID */
  begin(): number {
    this.end();
    this.#groups.push({ objects: [], isEnded: false });
    this.#tell();
    return this.#groups.length - 1;
  }

  /** Publishes an object in the open group. */
  object(size = 100): void {
    const group = this.#groups.length - 1;
    const { objects } = this.#groups[group] as { objects: Uint8Array[] };
    objects.push(payloadOf(this.name, group, objects.length, size));
    this.#tell();
  }

  /** Ends the open group, if there is one. */
  end(): void {
    const last = this.#groups.at(-1);
    if (last === undefined || last.isEnded) return;
    last.isEnded = true;
    this.#tell();
  }

  /** Publishes a whole group. @returns its Group ID */
  group(objects = 3, size = 100): number {
    const id = this.begin();
    for (let count = 0; count < objects; count++) this.object(size);
    this.end();
    return id;
  }

  /** What somebody else published, payload and all. */
  append(group: number, payload: Uint8Array): void {
    this.#group(group).objects.push(payload);
    this.#tell();
  }

  /** A group that somebody else published has ended. */
  endOf(group: number): void {
    this.#group(group).isEnded = true;
    this.#tell();
  }

  #group(id: number): { objects: Uint8Array[]; isEnded: boolean } {
    while (this.#groups.length <= id) this.#groups.push({ objects: [], isEnded: false });
    return this.#groups[id] as { objects: Uint8Array[]; isEnded: boolean };
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

export class Origin {
  readonly #tracks = new Map<string, OriginTrack>();

  /** @param name in text form, such as `live--video` */
  track(name: string): OriginTrack {
    let track = this.#tracks.get(name);
    if (track === undefined) {
      track = new OriginTrack(name);
      this.#tracks.set(name, track);
    }
    return track;
  }
}

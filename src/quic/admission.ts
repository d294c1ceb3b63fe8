/**
 * Which clients a server takes: caps on connections and on the rate of handshakes.
 *
 * @module
 */

import type { AdmissionSettings, RefusalCause } from "./options.ts";

/**
 * Counts connections, in all and by address, and lets a limited number of handshakes begin per
 * second. Holds one entry per address that has a connection, so its size is bounded by the cap.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #byAddress = new Map<string, number>();
  #open = 0;
  /** Handshakes that may begin now; refilled with time, at most one second's worth. */
  #allowance: number;
  #refilledAt = 0;

  constructor(settings: AdmissionSettings) {
    this.#settings = settings;
    this.#allowance = settings.maxHandshakesPerSecond;
  }

  /**
   * Lets a handshake begin, or says why not. A client that is let in counts as a connection until
   * {@link leave} is called for it. One that a cap turns away has used up some of the rate, so that
   * whatever an answer to it costs, `"handshake-rate"` bounds.
   *
   * @param address IP address; `undefined` where the stack does not tell it yet
   * @param now milliseconds of a clock that does not go back
   */
  enter(address: string | undefined, now: number): RefusalCause | undefined {
    this.#refill(now);
    if (this.#allowance < 1) return "handshake-rate";
    this.#allowance--;
    const { maxConnections, maxConnectionsPerAddress } = this.#settings;
    if (this.#open >= maxConnections) return "max-connections";
    const key = address === undefined ? undefined : addressKey(address);
    const sharing = key === undefined ? 0 : (this.#byAddress.get(key) ?? 0);
    if (sharing >= maxConnectionsPerAddress) return "max-connections-per-address";
    this.#open++;
    if (key !== undefined) this.#byAddress.set(key, sharing + 1);
    return undefined;
  }

  /** Tells the address of a client that was let in without one; says why it must go, if so. */
  locate(address: string): RefusalCause | undefined {
    const key = addressKey(address);
    const sharing = this.#byAddress.get(key) ?? 0;
    if (sharing >= this.#settings.maxConnectionsPerAddress) return "max-connections-per-address";
    this.#byAddress.set(key, sharing + 1);
    return undefined;
  }

  /** Ends the counting of a connection; `address` as it was given to `enter` or `locate`. */
  leave(address: string | undefined): void {
    this.#open--;
    if (address === undefined) return;
    const key = addressKey(address);
    const sharing = this.#byAddress.get(key) ?? 0;
    if (sharing > 1) this.#byAddress.set(key, sharing - 1);
    else this.#byAddress.delete(key);
  }

  /** Whether half of the connections, or of a second's handshakes, are used up. */
  underLoad(now: number): boolean {
    this.#refill(now);
    return (
      this.#open * 2 >= this.#settings.maxConnections ||
      this.#allowance * 2 <= this.#settings.maxHandshakesPerSecond
    );
  }

  #refill(now: number): void {
    const perSecond = this.#settings.maxHandshakesPerSecond;
    const gained = ((now - this.#refilledAt) / 1000) * perSecond;
    this.#allowance = Math.min(perSecond, this.#allowance + Math.max(0, gained));
    this.#refilledAt = now;
  }
}

/**
 * What counts as one address: an IPv4 address, also where it came mapped into IPv6, or the /64 of
 * an IPv6 address, of which one client usually holds all.
 */
export function addressKey(address: string): string {
  const plain = address.toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  if (mapped?.[1] !== undefined) return mapped[1];
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = (plain.split("%")[0] as string).split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const after = tail === "" ? 0 : tail.split(":").length + (tail.includes(".") ? 1 : 0);
    for (let i = groups.length + after; i < 8; i++) groups.push("0");
    if (tail !== "") groups.push(...tail.split(":"));
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}

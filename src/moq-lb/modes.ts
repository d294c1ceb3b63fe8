/**
 * Which mode a session is served in: redirect mode, or at addresses of its own, proxy mode
 * (LB-KEY-6).
 *
 * @module
 */

import { parseDraftName, type SessionErrorName, type SetupOption } from "../moqt/mod.ts";
import type { Transport } from "../transport/transport.ts";
import type { Mode } from "./mode.ts";
import type { Address, AddressFault, ExactAddresses, Service } from "./service.ts";
import type { RefusalCause } from "./session-event.ts";

/** What is made of a session that asks to be served. */
export type Judgement =
  | { readonly mode: Mode }
  | { readonly code: SessionErrorName; readonly reason: string; readonly cause: RefusalCause };

/** A mode and where it is served. */
export interface ModeAt<Addresses> {
  readonly mode: Mode;
  readonly addresses: Addresses;
}

export class Modes {
  readonly #redirect: ModeAt<Service>;
  readonly #proxy: ModeAt<ExactAddresses> | undefined;

  constructor(redirect: ModeAt<Service>, proxy?: ModeAt<ExactAddresses>) {
    this.#redirect = redirect;
    this.#proxy = proxy;
  }

  /** What SETUP says where the mode is not known yet: what holds in each. */
  get setupOptions(): readonly SetupOption[] {
    return this.#proxy?.mode.setupOptions ?? [];
  }

  /** Enough for each; a mode that has less room keeps to that by itself. */
  get maximumRequests(): number {
    const { maximumRequests } = this.#redirect.mode;
    return Math.max(maximumRequests, this.#proxy?.mode.maximumRequests ?? 0);
  }

  /** The mode at an address, or what is wrong with that. */
  at(address: Address): Mode | AddressFault {
    const { mode, addresses } = this.#redirect;
    const proxied = this.#proxy?.addresses.has(address);
    const fault = addresses.faultOf(address);
    if (this.#proxy !== undefined) {
      const isElsewhere = proxied === "perhaps" && fault !== undefined;
      if (proxied === "this" || isElsewhere) return this.#proxy.mode;
    }
    if (fault === undefined) return mode;
    return proxied === "other-authority" ? "INVALID_AUTHORITY" : fault;
  }

  /** Whether a session at an address can be served, over this carrier and in its draft. */
  judge(address: Address, { exactCodes, protocol }: Transport): Judgement {
    const mode = this.at(address);
    if (typeof mode === "string") {
      return { code: mode, reason: "this is not the service for it", cause: "address" };
    }
    if (mode.needsExactCodes && !exactCodes) {
      const reason = "not over this carrier: it does not keep the codes of streams";
      return { code: "INTERNAL_ERROR", reason, cause: "carrier" };
    }
    const draft = parseDraftName(protocol);
    if (draft === undefined || !mode.drafts.includes(draft)) {
      const reason = "not in this version of the protocol";
      return { code: "VERSION_NEGOTIATION_FAILED", reason, cause: "draft" };
    }
    return { mode };
  }
}

/**
 * Which client has which identifier on one connection.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";
import { isIdentifier } from "./identifier.ts";

/** A source of integers, each of 0..2^32-1 as likely as any other and none foretold by those before. */
export type RandomUint32 = () => number;

/** Identifiers by the runtime's cryptographic source, which every runtime has. */
export const secureRandomUint32: RandomUint32 = () =>
  crypto.getRandomValues(new Uint32Array(1))[0] as number;

export interface IdentifierTableOptions {
  /** {@link secureRandomUint32} by default. */
  readonly random?: RandomUint32;
  /**
   * How many identifiers are given out on the connection, 65,536 by default: what bounds its memory,
   * for none is ever given out twice.
   */
  readonly maximum?: number;
}

/** With this many draws in a row that are taken, chance is out of the question. */
const patience = 64;

/** Half the range: more than memory holds, and draws still find what is free. */
const largestMaximum = 0x8000_0000;

/**
 * The identifiers of one connection. Each comes from the source of randomness and nothing else, so
 * that it tells nothing of the client, nor of its identifier on another connection (CG-FIELD-7 to
 * CG-FIELD-9, CG-FIELD-12, CG-PRIV-1). A client keeps its own for the life of the connection
 * (CG-FIELD-11, CG-A4), and nobody else ever gets it: a late GROUP_CONTROL could hit the wrong client
 * (CG-S14).
 *
 * @typeParam Client what stands for a client group to the caller, compared as keys of a `Map`
 */
export class IdentifierTable<Client> {
  readonly #random: RandomUint32;
  readonly #maximum: number;
  readonly #identifiers = new Map<Client, number>();
  /** Every identifier ever given out; of clients that were forgotten, without them. */
  readonly #clients = new Map<number, { readonly client: Client } | undefined>();

  /** @throws {ClientGroupError} INVALID_CONFIGURATION where `maximum` is not in 1..2^31 */
  constructor({ random = secureRandomUint32, maximum = 65_536 }: IdentifierTableOptions = {}) {
    if (!Number.isInteger(maximum) || maximum < 1 || maximum > largestMaximum) {
      throw new ClientGroupError(
        "INVALID_CONFIGURATION",
        "the maximum of identifiers on a connection has to be an integer in 1..2147483648",
      );
    }
    this.#random = random;
    this.#maximum = maximum;
  }

  /** How many were given out, those of forgotten clients included. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * The client's identifier on this connection, a fresh one where it has none.
   *
   * @returns `undefined` where all were given out: the connection takes no further client
   * @throws {ClientGroupError} BAD_RANDOMNESS
   */
  assign(client: Client): number | undefined {
    const known = this.#identifiers.get(client);
    if (known !== undefined) return known;
    if (this.#clients.size >= this.#maximum) return undefined;
    const identifier = this.#draw();
    this.#identifiers.set(client, identifier);
    this.#clients.set(identifier, { client });
    return identifier;
  }

  /** The client's identifier, where it has one on this connection. */
  identifierOf(client: Client): number | undefined {
    return this.#identifiers.get(client);
  }

  /**
   * Whom an identifier stands for on this connection: the client that has it, `{ client }`; nobody
   * where it is not in use (CG-ACT-8), as one of another connection is not (CG-FIELD-14).
   */
  holderOf(identifier: number): { readonly client: Client } | undefined {
    return this.#clients.get(identifier);
  }

  /**
   * Releases the identifier of a client that is gone for good. It is not in use from now on, and
   * nobody gets it; the client itself would get a fresh one (CG-A5). Only four bytes' worth of it
   * are kept.
   */
  forget(client: Client): void {
    const identifier = this.#identifiers.get(client);
    if (identifier === undefined) return;
    this.#identifiers.delete(client);
    this.#clients.set(identifier, undefined);
  }

  /** A number that was never given out here (CG-FIELD-10, CG-S13). */
  #draw(): number {
    for (let draws = 0; draws < patience; draws++) {
      const identifier = this.#random();
      if (!isIdentifier(identifier)) {
        throw new ClientGroupError(
          "BAD_RANDOMNESS",
          "the source of randomness has to give integers in 0..4294967295",
        );
      }
      if (!this.#clients.has(identifier)) return identifier + 0;
    }
    throw new ClientGroupError(
      "BAD_RANDOMNESS",
      `the source of randomness gave identifiers in use ${patience} times in a row`,
    );
  }
}

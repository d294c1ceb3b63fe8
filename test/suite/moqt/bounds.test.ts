/**
 * How much work a message can make: counted in steps of the reader, so that the answer is the same
 * on every machine.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { ByteReader } from "../../../src/moqt/byte-reader.ts";
import { layouts } from "../../../src/moqt/layouts.ts";
import {
  type ControlMessage,
  type Draft,
  decodeControlMessage,
  type MessageParameter,
  MoqtError,
} from "../../../src/moqt/mod.ts";
import { varint } from "../../../src/varint.ts";
import { allDrafts, hex } from "./support.ts";

const longestBody = 65_535;

const counted = ["uint8", "wholeVarint", "bytes", "within", "fork", "fault"] as const;

/** How often a reader was asked for something while `body` ran. */
function stepsOf(body: () => void): number {
  let steps = 0;
  const methods: Record<string, unknown> = ByteReader.prototype as never;
  const originals = counted.map((name) => [name, methods[name]] as const);
  for (const [name, original] of originals) {
    methods[name] = function (this: ByteReader, ...given: unknown[]) {
      steps++;
      return (original as (...given: unknown[]) => unknown).apply(this, given);
    };
  }
  try {
    body();
  } finally {
    for (const [name, original] of originals) methods[name] = original;
  }
  return steps;
}

/** What a message comes to, and how many steps that took. */
function outcome(bytes: Uint8Array, draft: Draft = 22) {
  let message: ControlMessage | undefined;
  let error: unknown;
  const steps = stepsOf(() => {
    try {
      message = decodeControlMessage(bytes, draft);
    } catch (caught) {
      error = caught;
    }
  });
  return { message, error, steps };
}

/**
 * A message with as many parameters as its body can hold: `start`, their count, and then one
 * parameter, whose type is `type` where it comes first and repeated, by a delta of 0, after that.
 */
function fullOf(code: bigint, start: Uint8Array, type: number, value: Uint8Array): Uint8Array {
  const count = Math.floor((longestBody - start.length - 3) / (1 + value.length));
  const parameters = Array.from({ length: count }, (_, i) =>
    concatBytes(Uint8Array.of(i === 0 ? type : 0), value),
  );
  return messageOf(code, concatBytes(start, varint(count), ...parameters));
}

function messageOf(code: bigint, body: Uint8Array): Uint8Array {
  return concatBytes(varint(code), Uint8Array.of(body.length >> 8, body.length & 0xff), body);
}

function parametersOf(message: ControlMessage | undefined): readonly MessageParameter[] {
  assert.ok(message !== undefined && "parameters" in message);
  return message.parameters;
}

describe("the work of decoding a message", () => {
  test("with as many parameters as 65,535 bytes can hold grows with its bytes alone [LB-SEC-26]", () => {
    // REQUEST_UPDATE with range filters that are taken away: two bytes each, a delta and no length.
    const filters = fullOf(0x2n, hex("02"), 0x25, hex("00"));
    const { message, steps } = outcome(filters);
    const parameters = parametersOf(message);
    assert.equal(parameters.length, 32_765);
    assert.ok(parameters.every(({ type }) => type === "SUBGROUP_FILTER"));
    assert.ok(steps <= 2 * filters.length, `${steps} steps`);
  });

  test("with as many tokens as 65,535 bytes can hold copies its bytes once [LB-SEC-26]", () => {
    // SUBSCRIBE for (a) with tokens by value: four bytes each, the value of no bytes.
    const tokens = fullOf(0x3n, hex("00 01 01 61 01 74"), 0x03, hex("02 03 00"));
    const { message, steps } = outcome(tokens);
    const parameters = parametersOf(message);
    assert.equal(parameters.length, 16_381);
    assert.ok(steps <= 2 * tokens.length, `${steps} steps`);
    const buffers = new Set<unknown>();
    for (const parameter of parameters) {
      assert.ok(parameter.type === "AUTHORIZATION_TOKEN");
      assert.ok(parameter.token.aliasType === "USE_VALUE");
      buffers.add(parameter.token.tokenValue.buffer);
    }
    assert.equal(buffers.size, 1);
    const [buffer] = buffers as Set<ArrayBuffer>;
    assert.equal(buffer?.byteLength, tokens.length);
  });

  test("ends where a count or a length claims more than there is [LB-SEC-26]", () => {
    const lies = [
      // 2^62 parameters, 2^62 fields, a field, a token and a reason of 2^62 bytes.
      "03 000f 00 01 01 61 01 74 ff 4000000000000000",
      "03 000a 00 ff 4000000000000000",
      "03 000b 00 01 ff 4000000000000000",
      "03 0011 00 01 01 61 01 74 01 03 ff 4000000000000000",
      "05 000b 00 00 ff 4000000000000000",
    ];
    for (const digits of lies) {
      const { error, steps } = outcome(hex(digits));
      assert.ok(error instanceof MoqtError, digits);
      assert.equal(error.code, "PROTOCOL_VIOLATION");
      assert.ok(steps <= 12, `${digits}: ${steps} steps`);
    }
  });

  test("makes no error for each of thousands of invalid filters [LB-SEC-26]", () => {
    const wrong: [number, string][] = [
      // No range, an odd property, a range and a property that are cut off.
      [0x25, "01 00"],
      [0x28, "02 00 01"],
      [0x25, "02 00 80"],
      [0x28, "02 00 80"],
    ];
    for (const [type, value] of wrong) {
      const filters = fullOf(0x2n, hex("02"), type, hex(value));
      let faults = 0;
      const { fault } = ByteReader.prototype;
      ByteReader.prototype.fault = function (this: ByteReader, ...given) {
        faults++;
        return fault.apply(this, given);
      };
      try {
        const parameters = parametersOf(outcome(filters).message);
        assert.ok(parameters.length > 16_000);
        assert.ok(
          parameters.every((parameter) => {
            assert.ok("filter" in parameter && "kind" in parameter.filter);
            return parameter.filter.kind === "INVALID";
          }),
        );
      } finally {
        ByteReader.prototype.fault = fault;
      }
      assert.equal(faults, 0, value);
    }
  });

  test("reads FILL_PARAMETERS twice at most, whatever is inside [LB-SEC-26]", () => {
    // In a SUBSCRIBE: filters without the count that would come first, so that the reading with a
    // count fails at the very end.
    const count = 21_000;
    const filters = Array.from({ length: count }, (_, i) =>
      concatBytes(Uint8Array.of(i === 0 ? 0x25 : 0), hex("01 00")),
    );
    const bare = concatBytes(...filters);
    const counted = concatBytes(varint(count), ...filters, hex("ff"));
    for (const inner of [bare, counted]) {
      const parameter = concatBytes(hex("01 23"), varint(inner.length), inner);
      const bytes = messageOf(0x3n, concatBytes(hex("00 01 01 61 01 74"), parameter));
      const { steps } = outcome(bytes);
      assert.ok(steps <= 4 * bytes.length, `${steps} steps`);
    }
  });

  test("is at most four steps a byte for any body of any type [LB-SEC-26]", () => {
    const types = fc.constantFrom(...Object.values(layouts).map(({ code }) => code));
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      // Small values go further: they are known types, short lengths, plausible counts.
      fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 600 }).map((b) => Uint8Array.from(b)),
    );
    fc.assert(
      fc.property(types, bodies, fc.constantFrom(...allDrafts), (type, body, draft) => {
        const { error, steps } = outcome(messageOf(type, body), draft);
        if (error !== undefined) assert.ok(error instanceof MoqtError, String(error));
        assert.ok(steps <= 4 * body.length + 4, `${steps} steps for ${body.length} bytes`);
      }),
      { numRuns: 400 },
    );
  });
});

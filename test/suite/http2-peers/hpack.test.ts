import assert from "node:assert/strict";
import { describe, test } from "#test";
import { fromHex, toHex } from "../../../src/bytes.ts";
import {
  type FieldToSend,
  HpackDecoder,
  HpackEncoder,
  type Representation,
} from "../../support/http2/hpack.ts";

const bytes = (hex: string) => fromHex(hex.replaceAll(" ", "")) as Uint8Array;

/** What RFC 7541 Appendix C encodes: each section is a run of blocks over one dynamic table. */
interface Run {
  readonly huffman: boolean;
  readonly limit?: number;
  readonly blocks: readonly (readonly [hex: string, fields: readonly Line[], size: number])[];
}
type Line = readonly [name: string, value: string, as: Representation];

const date21 = "Mon, 21 Oct 2013 20:13:21 GMT";
const date22 = "Mon, 21 Oct 2013 20:13:22 GMT";
const cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

const requests: readonly (readonly Line[])[] = [
  [
    [":method", "GET", "indexed"],
    [":scheme", "http", "indexed"],
    [":path", "/", "indexed"],
    [":authority", "www.example.com", "incremental"],
  ],
  [
    [":method", "GET", "indexed"],
    [":scheme", "http", "indexed"],
    [":path", "/", "indexed"],
    [":authority", "www.example.com", "indexed"],
    ["cache-control", "no-cache", "incremental"],
  ],
  [
    [":method", "GET", "indexed"],
    [":scheme", "https", "indexed"],
    [":path", "/index.html", "indexed"],
    [":authority", "www.example.com", "indexed"],
    ["custom-key", "custom-value", "incremental"],
  ],
];

const responses: readonly (readonly Line[])[] = [
  [
    [":status", "302", "incremental"],
    ["cache-control", "private", "incremental"],
    ["date", date21, "incremental"],
    ["location", "https://www.example.com", "incremental"],
  ],
  [
    [":status", "307", "incremental"],
    ["cache-control", "private", "indexed"],
    ["date", date21, "indexed"],
    ["location", "https://www.example.com", "indexed"],
  ],
  [
    [":status", "200", "indexed"],
    ["cache-control", "private", "indexed"],
    ["date", date22, "incremental"],
    ["location", "https://www.example.com", "indexed"],
    ["content-encoding", "gzip", "incremental"],
    ["set-cookie", cookie, "incremental"],
  ],
];

const [first, second, third] = requests as [Line[], Line[], Line[]];
const [fourth, fifth, sixth] = responses as [Line[], Line[], Line[]];

const sections: Readonly<Record<string, Run>> = {
  "C.2.1": {
    huffman: false,
    blocks: [
      [
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        [["custom-key", "custom-header", "incremental"]],
        55,
      ],
    ],
  },
  "C.2.2": {
    huffman: false,
    blocks: [
      ["040c 2f73 616d 706c 652f 7061 7468", [[":path", "/sample/path", "without-indexing"]], 0],
    ],
  },
  "C.2.3": {
    huffman: false,
    blocks: [
      ["1008 7061 7373 776f 7264 0673 6563 7265 74", [["password", "secret", "never-indexed"]], 0],
    ],
  },
  "C.2.4": { huffman: false, blocks: [["82", [[":method", "GET", "indexed"]], 0]] },
  "C.3": {
    huffman: false,
    blocks: [
      ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", first, 57],
      ["8286 84be 5808 6e6f 2d63 6163 6865", second, 110],
      ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", third, 164],
    ],
  },
  "C.4": {
    huffman: true,
    blocks: [
      ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", first, 57],
      ["8286 84be 5886 a8eb 1064 9cbf", second, 110],
      ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", third, 164],
    ],
  },
  "C.5": {
    huffman: false,
    limit: 256,
    blocks: [
      [
        `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        fourth,
        222,
      ],
      ["4803 3330 37c1 c0bf", fifth, 222],
      [
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0
         5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745
         4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
        sixth,
        215,
      ],
    ],
  },
  "C.6": {
    huffman: true,
    limit: 256,
    blocks: [
      [
        `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        fourth,
        222,
      ],
      ["4883 640e ffc1 c0bf", fifth, 222],
      [
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160
         65c0 03ed 4ee5 b106 3d50 07`,
        sixth,
        215,
      ],
    ],
  },
};

const joined = (hex: string) => hex.replaceAll(/\s/g, "");

describe("HPACK of the scripted HTTP/2 peers", () => {
  for (const [section, { huffman, limit, blocks }] of Object.entries(sections)) {
    test(`reads RFC 7541 ${section} with each field's representation`, () => {
      const decoder = new HpackDecoder(limit);
      for (const [hex, fields, size] of blocks) {
        const decoded = decoder.decode(bytes(joined(hex)));
        assert.deepEqual(
          decoded.map(({ name, value, as }) => [name, value, as]),
          fields,
        );
        assert.equal(decoder.size, size);
      }
    });

    test(`writes RFC 7541 ${section} to the octet`, () => {
      const encoder = new HpackEncoder({ huffman, ...(limit !== undefined && { limit }) });
      for (const [hex, fields] of blocks) assert.equal(toHex(encoder.encode(fields)), joined(hex));
    });
  }

  test("reads back what it wrote, of any length", () => {
    const fields: FieldToSend[] = [1, 126, 127, 128, 300, 20_000].map((length) => [
      `x-${length}`,
      "a~".repeat(length),
    ]);
    for (const huffman of [false, true]) {
      const decoded = new HpackDecoder().decode(new HpackEncoder({ huffman }).encode(fields));
      assert.deepEqual(
        decoded.map(({ name, value }) => [name, value]),
        fields,
      );
    }
  });

  test("refuses entries that there are not, and size updates that are late or too large", () => {
    assert.throws(() => new HpackDecoder().decode(bytes("be")), /no entry 62/);
    assert.throws(() => new HpackDecoder().decode(bytes("80")), /no entry 0/);
    assert.throws(() => new HpackDecoder().decode(bytes("8220")), /behind the first field/);
    assert.throws(() => new HpackDecoder().decode(bytes("3fe21f")), /above the limit/);
    assert.deepEqual(new HpackDecoder().decode(bytes("3fe11f82")).length, 1);
  });
});

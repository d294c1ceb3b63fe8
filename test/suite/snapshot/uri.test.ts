import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  normaliseUri,
  parseSnapshot,
  sameServiceUri,
  validateSnapshot,
} from "../../../src/snapshot/mod.ts";
import { jsonWith } from "./fixtures.ts";

/** The problem of a relay with `uri`, if any. */
function uriProblem(uri: string, ownServiceUris: string[] = []): string | undefined {
  const problems = validateSnapshot(jsonWith({ "relays[0].uri": uri }), { ownServiceUris });
  assert.ok(problems.every(({ path }) => path === "relays[0].uri"));
  return problems[0] && `${problems[0].requirement}: ${problems[0].message}`;
}

describe("a Connect URI", () => {
  test("is an absolute https or moqt URI with a host [LB-S103] [LB-A22]", () => {
    const usable = [
      "https://r1.example",
      "https://r1.example/moq?tenant=a&x=%41",
      "moqt://r1.example:4443/moq",
      "HTTPS://R1.EXAMPLE/",
      "https://192.0.2.1:8443/",
      "moqt://[2001:db8::1]:443/a/../b",
      "https://xn--bcher-kva.example/;p=1/@:$",
      "https://r1.example:/",
    ];
    for (const uri of usable) assert.equal(uriProblem(uri), undefined, uri);
  });

  test("is anything but relative, empty, of another scheme or with fragment or userinfo [LB-S103]", () => {
    const unusable: [string, RegExp][] = [
      ["", /is empty/],
      ["r1.example/moq", /not absolute/],
      ["//r1.example/moq", /not absolute/],
      ["/moq", /not absolute/],
      ["https:/r1.example", /not absolute/],
      ["https:r1.example", /not absolute/],
      ["http://r1.example/", /scheme https or moqt/],
      ["wss://r1.example/", /scheme https or moqt/],
      ["javascript://r1.example/%0aalert(1)", /scheme https or moqt/],
      ["https://", /no host/],
      ["https:///moq", /no host/],
      ["moqt://:4443/", /no host/],
      ["https://./", /no host/],
      ["https://r1.example/#top", /fragment/],
      ["https://user@r1.example/", /user information/],
      ["https://user:secret@r1.example/", /user information/],
      ["https://@r1.example/", /user information/],
      ["https://r1.example:0/", /port/],
      ["https://r1.example:65536/", /port/],
      ["https://r1.example:4x/", /RFC 3986/],
      ["https://r1.example:-1/", /RFC 3986/],
      ["https://r1.example/a b", /RFC 3986/],
      [" https://r1.example/", /not absolute/],
      ["https://r1.example/\n", /RFC 3986/],
      ["https://r1.example/%zz", /RFC 3986/],
      ["https://r1.example\\@evil.example/", /RFC 3986|user information/],
      ["https://bücher.example/", /RFC 3986/],
      ["https://1.2.3.256/", /host/],
      ["https://[::1/", /RFC 3986/],
      ["https://[::g]/", /RFC 3986/],
      ["https://[1::2::3]/", /host/],
    ];
    for (const [uri, reason] of unusable) {
      assert.match(uriProblem(uri) ?? "no problem", reason, uri);
      assert.match(uriProblem(uri) ?? "", /^LB-S103: the URI /);
      assert.equal(normaliseUri(uri), undefined, uri);
    }
  });

  test("has up to 8192 bytes [RD-15]", () => {
    const uri = (length: number) => "https://r1.example/".padEnd(length, "a");
    assert.equal(uriProblem(uri(8192)), undefined);
    assert.match(uriProblem(uri(8193)) ?? "", /longer than 8192 bytes/);
    assert.match(uriProblem(uri(9000)) ?? "", /longer than 8192 bytes/);
  });

  test("stays as it is written in the snapshot [LB-A22]", () => {
    const uri = "HTTPS://R1.Example:443/a/../moq";
    assert.equal(parseSnapshot(jsonWith({ "relays[0].uri": uri })).relays[0]?.uri, uri);
  });
});

describe("normalisation", () => {
  test("has one form for equal spellings [LB-S104]", () => {
    const forms: [string, string][] = [
      ["MOQT://LB.Example/moq", "moqt://lb.example/moq"],
      ["moqt://lb.example:443/moq", "moqt://lb.example/moq"],
      ["https://lb.example:0443/moq", "https://lb.example/moq"],
      ["https://lb.example:/moq", "https://lb.example/moq"],
      ["https://lb.example.:8443/", "https://lb.example:8443/"],
      ["https://lb.example", "https://lb.example/"],
      ["https://lb.example?", "https://lb.example/"],
      ["https://lb.example?a=1", "https://lb.example/?a=1"],
      ["https://lb.example/a/./b/../moq", "https://lb.example/a/moq"],
      ["https://lb.example/%2e%2E/moq", "https://lb.example/moq"],
      ["https://lb.example/%6doq%2f%3A", "https://lb.example/moq%2F%3A"],
      ["https://l%62.example/", "https://lb.example/"],
      ["https://[2001:DB8:0:0:0:0:0:1]/", "https://[2001:db8::1]/"],
    ];
    for (const [uri, form] of forms) assert.equal(normaliseUri(uri), form, uri);
  });

  test("keeps apart what may be different services", () => {
    const uris = [
      "https://lb.example/moq",
      "https://lb.example/MOQ",
      "https://lb.example/moq/",
      "https://lb.example:444/moq",
      "https://lb.example/moq?a",
      "https://lb2.example/moq",
      "https://lb.example/m%2Foq",
    ];
    assert.equal(new Set(uris.map(normaliseUri)).size, uris.length);
  });

  test("is the same when done twice, for any text", () => {
    const uri = fc.oneof(
      fc.webUrl({ validSchemes: ["https", "moqt", "HTTPS"], withQueryParameters: true }),
      fc.string({ unit: "binary" }),
      fc.string().map((rest) => `https://${rest}`),
    );
    fc.assert(
      fc.property(uri, (text) => {
        const once = normaliseUri(text);
        if (once !== undefined) assert.equal(normaliseUri(once), once);
      }),
    );
  });
});

describe("the load balancer's own URI", () => {
  const own = ["moqt://LB.example/moq", "https://other.example/"];

  test("is refused as a relay's in every equivalent spelling [LB-S104] [LB-A22] [RD-11]", () => {
    const spellings = [
      "moqt://lb.example:443/moq",
      "https://lb.example/moq",
      "HTTPS://LB.EXAMPLE:443/./moq",
      "https://other.example",
    ];
    for (const uri of spellings) assert.match(uriProblem(uri, own) ?? "", /^LB-S104/, uri);
    for (const uri of ["https://lb.example/", "https://lb.example:4443/moq"]) {
      assert.equal(uriProblem(uri, own), undefined);
    }
  });

  test("is told by comparing services, https and moqt alike [LB-S104]", () => {
    assert.ok(sameServiceUri("moqt://LB.example/moq", "https://lb.example:443/moq"));
    assert.ok(!sameServiceUri("moqt://lb.example/moq", "moqt://lb.example/"));
    assert.ok(!sameServiceUri("no URI", "no URI"));
  });
});

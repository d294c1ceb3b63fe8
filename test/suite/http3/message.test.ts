import assert from "node:assert/strict";
import { describe, test } from "#test";
import { malformed } from "../../../src/http3/errors.ts";
import {
  checkTrailers,
  readRequestHead,
  readResponseHead,
  requestFields,
  responseFields,
} from "../../../src/http3/message.ts";
import type { Field } from "../../../src/http3/mod.ts";
import { fields, getLines } from "./support.ts";

type Line = readonly [name: string, value: string];

const messageError = { code: "H3_MESSAGE_ERROR", numericCode: 0x10en };
const request = (...lines: readonly Line[]) => readRequestHead(fields(...lines), malformed);
const response = (...lines: readonly Line[]) => readResponseHead(fields(...lines), malformed);

/** A good GET with lines replaced by name (or left out, where the value is null) or added. */
function changed(
  changes: Readonly<Record<string, string | null>>,
  ...more: readonly Line[]
): Field[] {
  const lines: Line[] = [];
  for (const [name, value] of getLines) {
    const change = changes[name];
    if (change !== null) lines.push([name, change ?? value]);
  }
  return fields(...lines, ...more);
}

function refuses(section: readonly Field[], why: string): void {
  assert.throws(() => readRequestHead(section, malformed), messageError, why);
}

describe("request heads", () => {
  test("are read in the order of the wire", () => {
    assert.deepEqual(request(...getLines, ["cookie", "a=1"], ["x-b", ""], ["cookie", "b=2"]), {
      method: "GET",
      scheme: "https",
      authority: "a.example",
      path: "/",
      headers: fields(["cookie", "a=1"], ["x-b", ""], ["cookie", "b=2"]),
    });
  });

  test("go out as they came in", () => {
    for (const section of [
      fields(...getLines, ["x", "y"]),
      fields([":method", "CONNECT"], [":authority", "a.example:443"]),
      changed({ ":authority": null }, ["host", "a.example"]),
      fields(
        [":method", "CONNECT"],
        [":scheme", "https"],
        [":authority", "a.example"],
        [":path", "/chat"],
        [":protocol", "websocket"],
      ),
    ]) {
      assert.deepEqual(requestFields(readRequestHead(section, malformed)), section);
    }
  });

  test("need their pseudo-header fields, each once", () => {
    for (const name of [":method", ":scheme", ":path"]) refuses(changed({ [name]: null }), name);
    for (const line of getLines) refuses(fields(line, ...getLines), `${line[0]} twice`);
    refuses(changed({ ":authority": null }), "neither :authority nor host");
    refuses(changed({ ":authority": "" }), "an empty :authority");
    refuses(changed({ ":path": "" }), "an empty :path");
  });

  test("have no other pseudo-header fields, and none behind a header", () => {
    refuses(fields([":status", "200"], ...getLines), "one of responses");
    refuses(fields([":unknown", "1"], ...getLines), "an unknown one");
    const [method, ...rest] = getLines;
    refuses(fields(...rest, ["x", "1"], method), "one behind a header");
  });

  test("have a method, a scheme and a path of legal characters", () => {
    refuses(changed({ ":method": "GE T" }), ":method");
    refuses(changed({ ":method": "" }), ":method");
    refuses(changed({ ":scheme": "ht tp" }), ":scheme");
    refuses(changed({ ":scheme": "1x" }), ":scheme");
    refuses(changed({ ":path": "x" }), ":path without slash");
    refuses(changed({ ":path": "/a b" }), ":path with a space");
    refuses(changed({ ":path": "/a\r\nx: y" }), ":path with a line break");
    refuses(changed({ ":authority": "user@a.example" }), "user information");
    refuses(changed({ ":path": "*" }), "an asterisk that is not for OPTIONS");
    assert.equal(
      readRequestHead(changed({ ":method": "OPTIONS", ":path": "*" }), malformed).path,
      "*",
    );
    assert.equal(readRequestHead(changed({ ":scheme": "foo", ":path": "x" }), malformed).path, "x");
  });

  test("name one host, whether in :authority or in host", () => {
    refuses(fields(...getLines, ["host", "b.example"]), "another host");
    refuses(fields(...getLines, ["host", "a.example"], ["host", "a.example"]), "host twice");
    const both = request(...getLines, ["host", "a.example"]);
    assert.equal(both.authority, "a.example");
  });

  test("of CONNECT have an authority alone, unless there is a protocol", () => {
    const connect: Line = [":method", "CONNECT"];
    const authority: Line = [":authority", "a.example:443"];
    assert.equal(request(connect, authority).scheme, undefined);
    refuses(fields(connect), "no authority");
    refuses(fields(connect, authority, [":path", "/"]), "a path");
    refuses(fields(connect, authority, [":scheme", "https"]), "a scheme");
    refuses(fields(connect, authority, [":protocol", "x"]), "a protocol without a target");
    refuses(
      fields(connect, [":scheme", "https"], [":path", "/"], [":protocol", "x"], ["host", "a"]),
      "a protocol without an authority",
    );
    refuses(fields(...getLines, [":protocol", "x"]), "a protocol with GET");
  });

  test("have field names in lower case and of legal characters [F04]", () => {
    for (const name of ["Accept", "a b", "a\t", "", "a:b", "ä", "a\u0000", "client-group "]) {
      refuses(fields(...getLines, [name, "x"]), JSON.stringify(name));
    }
    assert.equal(request(...getLines, ["client_group", "7"]).headers.length, 1);
  });

  test("have field values without control characters or spaces around them", () => {
    for (const value of ["a\r", "a\nb", "a\u0000b", " a", "a ", "\ta", "a\u007f", "\u0001"]) {
      refuses(fields(...getLines, ["x", value]), JSON.stringify(value));
    }
    for (const value of ["", "a", "a b\tc", "\u00e4", "a,b"]) {
      assert.equal(request(...getLines, ["x", value]).headers[0]?.value, value);
    }
  });

  test("have no fields about the connection", () => {
    for (const name of [
      "connection",
      "keep-alive",
      "proxy-connection",
      "transfer-encoding",
      "upgrade",
    ]) {
      refuses(fields(...getLines, [name, "x"]), name);
    }
    refuses(fields(...getLines, ["te", "gzip"]), "te");
    assert.equal(request(...getLines, ["te", "trailers"]).headers.length, 1);
  });

  test("have one content-length, which is a number", () => {
    for (const value of ["", "1,1", "-1", "1.0", "0x1", "9007199254740992", "a"]) {
      refuses(fields(...getLines, ["content-length", value]), value);
    }
    refuses(fields(...getLines, ["content-length", "1"], ["content-length", "1"]), "twice");
    assert.equal(request(...getLines, ["content-length", "01"]).headers.length, 1);
  });

  test("name no untrusted value in their errors", () => {
    try {
      request(...getLines, ["Secret-Name", "secret value"]);
      assert.fail("it is malformed");
    } catch (error) {
      assert.doesNotMatch(String(error), /secret/i);
    }
  });
});

describe("response heads", () => {
  test("have a status of three digits", () => {
    assert.deepEqual(response([":status", "200"], ["x", "y"]), {
      status: 200,
      headers: fields(["x", "y"]),
    });
    for (const status of ["", "20", "2000", "abc", "099", "2 0", "+20"]) {
      assert.throws(() => response([":status", status]), messageError, status);
    }
    assert.throws(() => response(["x", "y"]), messageError);
    assert.throws(() => response([":status", "200"], [":status", "200"]), messageError);
    assert.throws(() => response([":status", "200"], [":path", "/"]), messageError);
    assert.throws(() => response([":path", "/"], [":status", "200"]), messageError);
  });

  test("are never 101, which HTTP/3 has not", () => {
    assert.throws(() => response([":status", "101"]), messageError);
    assert.equal(response([":status", "103"]).status, 103);
  });

  test("have no te and no fields about the connection", () => {
    assert.throws(() => response([":status", "200"], ["te", "trailers"]), messageError);
    assert.throws(() => response([":status", "200"], ["connection", "close"]), messageError);
  });

  test("go out as they came in", () => {
    const section = fields([":status", "404"], ["content-length", "0"]);
    assert.deepEqual(responseFields(readResponseHead(section, malformed)), section);
  });
});

describe("trailers", () => {
  test("have no pseudo-header fields and no fields about the connection", () => {
    checkTrailers(fields(["x-checksum", "1"]), malformed);
    for (const line of [
      [":status", "200"],
      ["connection", "close"],
      ["te", "trailers"],
      ["X", "1"],
    ] as const) {
      assert.throws(() => checkTrailers(fields(line), malformed), messageError);
    }
  });
});

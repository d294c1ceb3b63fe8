import assert from "node:assert/strict";
import { describe, test } from "#test";
import { fieldsOf, hasContent, requestFrom } from "../../../src/http2/origin-message.ts";

const target = { scheme: "https", method: "GET", authority: "a.example", path: "/" } as const;
/** workerd makes none before a test runs. */
const signal = () => new AbortController().signal;

describe("a request of node:http2 as one of fetch", () => {
  test("has the URL of its pseudo-header fields, and no field of them", () => {
    const fields = { ":method": "GET", ":path": "/x", "x-a": "b", "x-list": ["c", "d"] };
    const request = requestFrom({ ...target, path: "/x?y#z" }, fields, undefined, signal());
    assert.equal(request.url, "https://a.example/x?y#z");
    assert.deepEqual(
      [...request.headers],
      [
        ["x-a", "b"],
        ["x-list", "c, d"],
      ],
    );
  });

  test("keeps to its authority, whatever its path begins with", () => {
    const url = (path: string) => requestFrom({ ...target, path }, {}, undefined, signal()).url;
    assert.equal(url("//other.example/"), "https://a.example//other.example/");
    assert.equal(url("/@other.example/"), "https://a.example/@other.example/");
    for (const path of [
      "",
      ".other.example/",
      "@other.example/",
      ":81/",
      "https://other.example/",
    ]) {
      assert.throws(() => url(path), { status: 400 }, path);
    }
  });

  test("is none without a host, with a password in it, or with a field that cannot be", () => {
    const from = (authority: string | undefined, fields = {}) =>
      requestFrom({ ...target, authority }, fields, undefined, signal());
    for (const authority of [undefined, "", "user:secret@a.example", "a b", "a.example:99999"]) {
      assert.throws(() => from(authority), { status: 400 }, String(authority));
    }
    assert.throws(() => from("a.example", { "x y": "z" }), { status: 400 });
  });

  test("is none with a method that fetch has not", () => {
    for (const method of ["CONNECT", "TRACE"]) {
      assert.throws(() => requestFrom({ ...target, method }, {}, undefined, signal()), {
        status: 501,
      });
    }
  });

  test("has content where it may have some", async () => {
    const content = () => new Response("content").body as ReadableStream<Uint8Array<ArrayBuffer>>;
    const post = requestFrom({ ...target, method: "POST" }, {}, content(), signal());
    assert.equal(await post.text(), "content");
    assert.equal(requestFrom(target, {}, content(), signal()).body, null);
  });
});

describe("a response of fetch as one of node:http2", () => {
  test("has its fields but Client-Group and those of a connection [CG-FIELD-17]", () => {
    const headers = new Headers({
      "Client-Group": "907",
      connection: "close",
      "transfer-encoding": "chunked",
      upgrade: "h2c",
      "x-kept": "a",
    });
    headers.append("set-cookie", "a=b");
    headers.append("set-cookie", "c=d");
    assert.deepEqual({ ...fieldsOf(headers) }, { "x-kept": "a", "set-cookie": ["a=b", "c=d"] });
  });

  test("has content unless its method or its status says otherwise", () => {
    assert.equal(hasContent("GET", new Response("a")), true);
    assert.equal(hasContent("HEAD", new Response("a")), false);
    assert.equal(hasContent("GET", new Response(null)), false);
    assert.equal(hasContent("GET", new Response(null, { status: 204 })), false);
  });
});

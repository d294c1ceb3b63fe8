import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  asksToAuthenticateConnection,
  authenticatesConnection,
} from "../../../src/gateway/downstream/authentication.ts";
import { isTooEarly } from "../../../src/gateway/downstream/early-data.ts";
import {
  type Fields,
  fieldsFromLines,
  linesOfFields,
  type RequestHead,
  requestFields,
  responseFields,
  sensitiveOf,
  takesTrailers,
  timesPassed,
  trailerFields,
} from "../../../src/gateway/downstream/fields.ts";

const nowhere = { form: "none", address: "192.0.2.7", scheme: "https" } as const;

function head(fields: Fields, more: Partial<RequestHead> = {}): RequestHead {
  return {
    method: "GET",
    scheme: "https",
    authority: "api.example",
    path: "/x",
    protocol: "2",
    fields,
    neverIndexed: [],
    ...more,
  };
}

const sent = (fields: Fields, more: Partial<RequestHead> = {}) =>
  requestFields(head(fields, more), "https", nowhere);

const plain = (fields: Fields) => ({ ...fields });

describe("a request's fields on their way to an origin", () => {
  test("are those that the client sent, with this hop in Via [CG-REQ-1]", () => {
    const { fields } = sent({ accept: "*/*", "x-a": "1, 2", via: "1.1 cdn" });
    assert.deepEqual(plain(fields), {
      ":method": "GET",
      ":scheme": "https",
      ":authority": "api.example",
      ":path": "/x",
      accept: "*/*",
      "x-a": "1, 2",
      via: "1.1 cdn, 2 yardmaster",
    });
  });

  test("lose what is connection-specific and what Connection nominates [CG-REQ-3, G02]", () => {
    const { fields } = sent({
      connection: "keep-alive, X-Hop , close",
      "keep-alive": "timeout=5",
      "proxy-connection": "keep-alive",
      "transfer-encoding": "chunked",
      upgrade: "h2c",
      "http2-settings": "AAMAAABkAAQAAP__",
      "x-hop": "1",
      "x-kept": "1",
    });
    assert.deepEqual(
      Object.keys(fields).filter((name) => !name.startsWith(":")),
      ["x-kept", "via"],
    );
  });

  test("lose Proxy-Authorization, which is meant for the gateway [CG-REQ-4, G02]", () => {
    assert.equal(
      sent({ "proxy-authorization": "Basic YTpi" }).fields["proxy-authorization"],
      undefined,
    );
  });

  test("lose Client-Group, and keep a name that only looks like it [CG-FIELD-15, F01, F04]", () => {
    const { fields } = sent({ "client-group": "7, 8", client_group: "9" });
    assert.equal(fields["client-group"], undefined);
    assert.equal(fields.client_group, "9");
  });

  test("have credentials never indexed, and whatever came so [CG-SEC-1, CG-SEC-2, CG-REQ-5, G03, G04]", () => {
    const fields = { authorization: "Bearer x", cookie: "a=1", "x-secret": "s", accept: "*/*" };
    assert.deepEqual([...sent(fields).sensitive].sort(), ["authorization", "cookie"]);
    assert.deepEqual([...sent(fields, { neverIndexed: ["x-secret", "x-gone"] }).sensitive].sort(), [
      "authorization",
      "cookie",
      "x-secret",
    ]);
    assert.deepEqual(sensitiveOf({ accept: "*/*" }, []), []);
  });

  test("have TE only as HTTP/2 allows it", () => {
    assert.equal(sent({ te: "trailers" }).fields.te, "trailers");
    assert.equal(sent({ te: "gzip, Trailers;q=0.5" }).fields.te, "trailers");
    assert.equal(sent({ te: "gzip" }).fields.te, undefined);
    // It came by Connection, as HTTP/1.1 wants it, and was understood here all the same.
    assert.equal(sent({ te: "trailers", connection: "te" }).fields.te, "trailers");
    assert.equal(takesTrailers(undefined), false);
  });

  test("name one authority, that of the request", () => {
    const { fields } = sent({ host: "api.example" });
    assert.equal(fields.host, undefined);
    assert.equal(fields[":authority"], "api.example");
  });

  test("tell of the client only where the deployment wants it", () => {
    const forms = (form: "none" | "forwarded" | "x-forwarded" | "both", fields: Fields = {}) =>
      requestFields(head(fields), "http", { ...nowhere, form, address: "2001:db8::1" }).fields;
    assert.equal(forms("none").forwarded, undefined);
    assert.equal(forms("none")["x-forwarded-for"], undefined);
    assert.equal(
      forms("forwarded", { forwarded: "for=10.0.0.1" }).forwarded,
      'for=10.0.0.1, for="[2001:db8::1]";host="api.example";proto=https',
    );
    // What the client says of itself does not count, but in a list, where others can be told from it.
    const x = forms("both", {
      "x-forwarded-for": "10.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "evil.example",
    });
    assert.equal(x["x-forwarded-for"], "10.0.0.1, 2001:db8::1");
    assert.equal(x["x-forwarded-proto"], "https");
    assert.equal(x["x-forwarded-host"], "api.example");
    assert.ok(x.forwarded !== undefined);
  });

  test("share no object with another request [CG-REQ-2]", () => {
    const fields = { accept: "*/*" };
    const [a, b] = [sent(fields).fields, sent(fields).fields];
    a["x-marker"] = "a";
    assert.equal(b["x-marker"], undefined);
    assert.deepEqual(fields, { accept: "*/*" });
  });

  test("count how often they have come by here", () => {
    assert.equal(timesPassed("1.1 cdn, 2 yardmaster, 1.1 yardmaster (v1), 2 other-yardmaster"), 2);
    assert.equal(timesPassed(undefined), 0);
  });
});

describe("a response's fields on their way to a client", () => {
  test("lose Client-Group and what ends here [CG-FIELD-18, F03, G02]", () => {
    const out = responseFields({
      ":status": 200,
      "client-group": "7",
      connection: "x-hop",
      "x-hop": "1",
      "keep-alive": "1",
      "transfer-encoding": "chunked",
      upgrade: "h2c",
      "set-cookie": ["a", "b"],
      via: "1.1 inner",
    });
    assert.deepEqual(plain(out), { "set-cookie": ["a", "b"], via: "1.1 inner, 2 yardmaster" });
  });
});

describe("trailers", () => {
  test("lose Client-Group and what has no place there, both ways [CG-S18, CG-FIELD-5, F03]", () => {
    const out = trailerFields({
      "client-group": "7",
      "content-length": "3",
      authorization: "Basic YTpi",
      te: "trailers",
      host: "b",
      "x-checksum": "1",
    });
    assert.deepEqual(plain(out), { "x-checksum": "1" });
  });
});

describe("fields of HTTP/1.1", () => {
  test("are joined by name, cookies as HTTP/2 joins them", () => {
    const lines = ["Accept", "a", "Cookie", "x=1", "ACCEPT", "b", "cookie", "y=2"];
    assert.deepEqual(plain(fieldsFromLines(lines)), { accept: "a, b", cookie: "x=1; y=2" });
  });

  test("are written as a line for each value, and not at all where one would end its line", () => {
    assert.deepEqual(linesOfFields({ "set-cookie": ["a", "b"], age: 3, no: undefined }), [
      "set-cookie",
      "a",
      "set-cookie",
      "b",
      "age",
      "3",
    ]);
    assert.equal(linesOfFields({ "x-a": "1\r\nset-cookie: evil" }), undefined);
  });

  test("cannot reach the prototype of anything", () => {
    const fields = fieldsFromLines(["__proto__", "x", "constructor", "y"]);
    assert.equal(Object.getPrototypeOf(fields), null);
    assert.equal(fields.constructor, "y");
  });
});

describe("early data", () => {
  test("is passed on for safe methods alone, or not at all [I01, CG-REQ-6]", () => {
    const early = { "early-data": "1" };
    assert.equal(isTooEarly("GET", early, "safe"), false);
    assert.equal(isTooEarly("POST", early, "safe"), true);
    assert.equal(isTooEarly("PUT", early, "safe"), true);
    assert.equal(isTooEarly("GET", early, "refuse"), true);
    assert.equal(isTooEarly("POST", {}, "refuse"), false);
  });

  test("is still called so at the origin [I03, CG-REQ-7]", () => {
    assert.equal(sent({ "early-data": "1" }).fields["early-data"], "1");
  });
});

describe("authentication of a connection", () => {
  test("is known by its scheme, in whatever case [CG-KEY-9]", () => {
    assert.equal(authenticatesConnection({ authorization: "NTLM TlRMTVNTUAAB" }), true);
    assert.equal(authenticatesConnection({ authorization: "negotiate YII" }), true);
    assert.equal(authenticatesConnection({ authorization: "Bearer NTLM" }), false);
    assert.equal(authenticatesConnection({}), false);
  });

  test("is asked for by a 401, among other challenges too [CG-S61]", () => {
    const asks = (value: string, status = 401) =>
      asksToAuthenticateConnection(status, { "www-authenticate": value });
    assert.equal(asks("Negotiate"), true);
    assert.equal(asks('Basic realm="a, b", NTLM'), true);
    assert.equal(asks('Basic realm="x"'), false);
    assert.equal(asks("Negotiate", 403), false);
  });
});

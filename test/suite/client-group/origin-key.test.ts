import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  type OriginAttributes,
  originKey,
  restrictionScope,
} from "../../../src/client-group/mod.ts";

const base: OriginAttributes = {
  scheme: "https",
  host: "api.example",
  port: 443,
  serverName: "api.example",
  validationPolicy: "public",
  protocol: "h2",
};

function separates(difference: Partial<OriginAttributes>) {
  assert.notEqual(originKey({ ...base, ...difference }), originKey(base));
}

describe("origin key", () => {
  test("is equal where every attribute is [CG-KEY-10]", () => {
    assert.equal(originKey({ ...base }), originKey(base));
  });

  test("differs by scheme, host and port; there is no coalescing [CG-KEY-1, CG-S59]", () => {
    separates({ scheme: "http" });
    separates({ host: "www.example" });
    separates({ port: 8443 });
  });

  test("differs by server name, and by whether there is one [CG-KEY-2]", () => {
    separates({ serverName: "other.example" });
    separates({ serverName: undefined });
    assert.notEqual(
      originKey({ ...base, serverName: undefined }),
      originKey({ ...base, serverName: "" }),
    );
  });

  test("differs by how the certificate is validated [CG-KEY-3]", () => {
    separates({ validationPolicy: "pinned" });
  });

  test("differs by client certificate, and by whether there is one [CG-KEY-4, H01]", () => {
    const keys = [undefined, "", "alice", "bob"].map((clientCertificate) =>
      originKey({ ...base, clientCertificate }),
    );
    assert.equal(new Set(keys).size, 4);
  });

  test("differs by protocol [CG-KEY-5]", () => {
    separates({ protocol: "h3" });
  });

  test("differs by the extensions that a request needs, not by their order [CG-KEY-6]", () => {
    separates({ extensions: ["extended-connect"] });
    const both = originKey({ ...base, extensions: ["extended-connect", "datagrams"] });
    assert.equal(originKey({ ...base, extensions: ["datagrams", "extended-connect"] }), both);
    assert.equal(
      originKey({ ...base, extensions: ["datagrams", "extended-connect", "datagrams"] }),
      both,
    );
    assert.notEqual(originKey({ ...base, extensions: ["datagrams"] }), both);
    assert.equal(originKey({ ...base, extensions: [] }), originKey(base));
  });

  test("differs by tenant and by whatever else is added [CG-KEY-7, CG-KEY-8, CG-SEC-3, H05]", () => {
    separates({ tenant: "one" });
    assert.notEqual(originKey({ ...base, tenant: "one" }), originKey({ ...base, tenant: "two" }));
    separates({ others: { region: "eu" } });
    assert.equal(
      originKey({ ...base, others: { region: "eu", inspection: "on" } }),
      originKey({ ...base, others: { inspection: "on", region: "eu" } }),
    );
    assert.equal(originKey({ ...base, others: {} }), originKey(base));
  });

  test("does not care for the case of names [CG-KEY-1, CG-KEY-2]", () => {
    assert.equal(
      originKey({ ...base, scheme: "HTTPS", host: "API.example", serverName: "Api.Example" }),
      originKey(base),
    );
    separates({ validationPolicy: "Public" });
  });

  test("cannot be forged by what is in an attribute [CG-KEY-7]", () => {
    const forged = [
      { host: 'api.example",443' },
      { tenant: 'one","two' },
      { tenant: "null" },
      { tenant: "one\u0000two" },
      { tenant: "\ud800" },
      { tenant: "\ufffd" },
      { extensions: ['a","b'] },
      { extensions: ["a", "b"] },
      { extensions: ["a,b"] },
      { others: { a: "b", c: "d" } },
      { others: { a: 'b"],["c","d' } },
      { others: { __proto__x: "b" } },
      { others: { 'a","b': "" } },
    ];
    const keys = forged.map((difference) => originKey({ ...base, ...difference }));
    assert.equal(new Set(keys).size, forged.length);
  });

  test("is not made without a scheme, a host or a port", () => {
    for (const wrong of [
      { scheme: "" },
      { host: "" },
      { port: 0 },
      { port: 65_536 },
      { port: 1.5 },
    ]) {
      assert.throws(() => originKey({ ...base, ...wrong }), { code: "INVALID_CONFIGURATION" });
    }
  });

  test("is equal for two requests exactly where their attributes are [CG-KEY-1, CG-KEY-7]", () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab",[]\\:\u0000é'), maxLength: 4 });
    const maybe = fc.option(text, { nil: undefined });
    const name = fc.constantFrom("a", "b", 'a"');
    const attributes = fc.record(
      {
        scheme: fc.constantFrom("https", "http"),
        host: text.map((host) => `h${host}`),
        port: fc.integer({ min: 1, max: 3 }),
        serverName: maybe,
        validationPolicy: text,
        clientCertificate: maybe,
        protocol: fc.constantFrom("h2" as const, "h3" as const),
        extensions: fc.uniqueArray(text, { maxLength: 2 }).map((all) => all.sort()),
        tenant: maybe,
        others: fc
          .uniqueArray(name)
          .chain((names) =>
            fc
              .tuple(...names.sort().map((key) => fc.tuple(fc.constant(key), text)))
              .map((pairs) => Object.fromEntries(pairs as [string, string][])),
          ),
      },
      { noNullPrototype: true },
    );
    const field = fc.nat({ max: 9 });
    fc.assert(
      fc.property(attributes, attributes, field, (a, other, index) => {
        // Most pairs differ in one attribute alone.
        const key = Object.keys(a)[index] as keyof typeof a;
        const b = { ...a, [key]: other[key] };
        let same = true;
        try {
          assert.deepEqual(a, b);
        } catch {
          same = false;
        }
        assert.equal(originKey(a) === originKey(b), same);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("reach of BLOCK and LIMIT", () => {
  const scope = (difference: Partial<OriginAttributes>) =>
    restrictionScope({ ...base, ...difference });

  test("by default is the origin, whatever the protocol and the rest of the key [CG-A11, CG-S28, CG-S60]", () => {
    for (const difference of [
      { protocol: "h3" as const },
      { extensions: ["datagrams"] },
      { serverName: "other.example" },
      { validationPolicy: "pinned" },
      { others: { region: "eu" } },
    ]) {
      assert.equal(scope(difference), scope({}));
    }
  });

  test("is never another origin, tenant or certificate [CG-SEC-6, CG-KEY-10]", () => {
    for (const difference of [
      { scheme: "http" },
      { host: "www.example" },
      { port: 8443 },
      { tenant: "one" },
      { clientCertificate: "alice" },
    ]) {
      assert.notEqual(scope(difference), scope({}));
    }
  });

  test("is the equal key alone where that is configured [CG-ACT-6, CG-KEY-10, CG-A11]", () => {
    const literal = (difference: Partial<OriginAttributes>) =>
      restrictionScope({ ...base, ...difference }, "origin-key");
    assert.equal(literal({}), literal({}));
    assert.notEqual(literal({ protocol: "h3" }), literal({}));
    assert.notEqual(literal({ others: { region: "eu" } }), literal({}));
    assert.notEqual(literal({}), scope({}));
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { clientKey } from "../../../src/moq-lb/mod.ts";
import { Service } from "../../../src/moq-lb/service.ts";

const service = new Service({
  path: "/moqt",
  serviceUris: ["https://LB.example/live/moq", "moqt://lb.example:4433/moqt?mode=redirect"],
});

describe("the addresses of a service", () => {
  test("are its path and those of its URIs, with any query [SU-05]", () => {
    for (const path of ["/moqt", "/moqt?x=1", "/live/moq", "/live/./moq", "/%6doqt"]) {
      assert.equal(service.faultOf({ path }), undefined, path);
    }
    for (const path of ["", "/", "/nope", "/moqt/", "/MOQT", "/moqt/x", "moqt", "/moqt%2f"]) {
      assert.equal(service.faultOf({ path }), "INVALID_PATH", path);
    }
  });

  test("are the authorities of its URIs, however they are spelt [SU-05] [RD-11]", () => {
    for (const authority of ["lb.example", "LB.Example:443", "lb.example.:", "lb.example:4433"]) {
      assert.equal(service.faultOf({ authority, path: "/moqt" }), undefined, authority);
    }
    for (const authority of [
      "",
      "lb",
      "lb.example:4434",
      "user@lb.example",
      "[::1]",
      "lb.example/x",
    ]) {
      assert.equal(service.faultOf({ authority, path: "/moqt" }), "INVALID_AUTHORITY", authority);
    }
  });

  test("are whatever was not said", () => {
    assert.equal(service.faultOf({}), undefined);
  });

  test("have any authority where the service names none", () => {
    const anywhere = new Service({ path: "/moqt", serviceUris: [] });
    assert.equal(anywhere.faultOf({ authority: "whatever.example", path: "/moqt" }), undefined);
    assert.equal(anywhere.faultOf({ path: "/other" }), "INVALID_PATH");
  });

  test("cannot be told of a path or URI that is none", () => {
    for (const options of [
      { path: "moqt", serviceUris: [] },
      { path: "/moqt?x", serviceUris: [] },
      { path: "/moqt", serviceUris: ["ftp://lb.example/"] },
    ]) {
      assert.throws(() => new Service(options), { code: "INVALID_CONFIGURATION" });
    }
  });
});

describe("clients", () => {
  test("of IPv4 are told apart by address, without the port", () => {
    assert.equal(clientKey("192.0.2.1:4433"), "192.0.2.1");
    assert.equal(clientKey("192.0.2.1"), "192.0.2.1");
    assert.equal(clientKey("[::ffff:192.0.2.1]:4433"), "192.0.2.1");
  });

  test("of IPv6 are told apart by their network of 64 bits", () => {
    const keys = ["[2001:db8::1]:4433", "2001:db8::2", "[2001:DB8:0:0:ffff::]:1"].map(clientKey);
    assert.equal(new Set(keys).size, 1);
    assert.notEqual(clientKey("2001:db8:0:1::1"), keys[0]);
  });

  test("that nobody can tell apart are one", () => {
    assert.equal(clientKey(""), "");
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Admission, addressKey } from "../../../src/quic/admission.ts";

const settings = { maxConnections: 4, maxConnectionsPerAddress: 2, maxHandshakesPerSecond: 100 };

describe("admission of connections", () => {
  test("caps connections in all and by address, and forgets those that leave", () => {
    const admission = new Admission(settings);
    assert.equal(admission.enter("10.0.0.1", 0), undefined);
    assert.equal(admission.enter("10.0.0.1", 0), undefined);
    assert.equal(admission.enter("10.0.0.1", 0), "max-connections-per-address");
    assert.equal(admission.enter("10.0.0.2", 0), undefined);
    assert.equal(admission.enter("10.0.0.3", 0), undefined);
    assert.equal(admission.enter("10.0.0.4", 0), "max-connections");
    admission.leave("10.0.0.1");
    assert.equal(admission.enter("10.0.0.1", 0), undefined);
  });

  test("learns an address later where the stack tells it later", () => {
    const admission = new Admission({ ...settings, maxConnectionsPerAddress: 1 });
    assert.equal(admission.enter(undefined, 0), undefined);
    assert.equal(admission.locate("10.0.0.1"), undefined);
    assert.equal(admission.enter(undefined, 0), undefined);
    assert.equal(admission.locate("10.0.0.1"), "max-connections-per-address");
    admission.leave(undefined);
    admission.leave("10.0.0.1");
    assert.equal(admission.enter("10.0.0.1", 0), undefined);
  });

  test("lets handshakes begin at a rate, a second's worth at once", () => {
    const admission = new Admission({
      ...settings,
      maxConnections: 1000,
      maxConnectionsPerAddress: 1000,
      maxHandshakesPerSecond: 10,
    });
    const taken = (now: number) => {
      let count = 0;
      while (admission.enter("10.0.0.1", now) === undefined) count++;
      return count;
    };
    assert.equal(taken(1_000), 10);
    assert.equal(taken(1_000), 0);
    assert.equal(taken(1_500), 5);
    assert.equal(taken(60_000), 10);
    assert.equal(admission.enter("10.0.0.1", 60_000), "handshake-rate");
    assert.equal(taken(59_000), 0);
  });

  test("is under load from half of either cap on", () => {
    const admission = new Admission(settings);
    assert.equal(admission.underLoad(0), false);
    admission.enter("10.0.0.1", 0);
    assert.equal(admission.underLoad(0), false);
    admission.enter("10.0.0.2", 0);
    assert.equal(admission.underLoad(0), true);
    const rated = new Admission({ ...settings, maxConnections: 1000, maxHandshakesPerSecond: 4 });
    rated.enter("10.0.0.1", 0);
    assert.equal(rated.underLoad(0), false);
    rated.enter("10.0.0.2", 0);
    assert.equal(rated.underLoad(0), true);
    assert.equal(rated.underLoad(1_000), false);
  });

  test("one address is an IPv4 address, mapped or not, or the /64 of an IPv6 address", () => {
    assert.equal(addressKey("192.0.2.7"), "192.0.2.7");
    assert.equal(addressKey("::ffff:192.0.2.7"), "192.0.2.7");
    assert.equal(addressKey("::FFFF:192.0.2.7"), "192.0.2.7");
    assert.equal(addressKey("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    assert.equal(addressKey("2001:db8:1:2::6"), "2001:db8:1:2::/64");
    assert.equal(addressKey("2001:0DB8:0001:0002::"), "2001:db8:1:2::/64");
    assert.equal(addressKey("2001:db8::5:6:7:8"), "2001:db8:0:0::/64");
    assert.equal(addressKey("::1"), "0:0:0:0::/64");
    assert.equal(addressKey("fe80::1%eth0"), "fe80:0:0:0::/64");
  });
});

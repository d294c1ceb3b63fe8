import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../../src/bytes.ts";
import { remainder, updated } from "../../../../../src/moq-lb/proxy/moving/current-parameters.ts";
import {
  decodeControlMessage,
  drafts,
  encodeControlMessage,
  type LocationFilter,
  type MessageParameter,
} from "../../../../../src/moqt/mod.ts";

const filter = (filter: LocationFilter): MessageParameter => ({ type: "LOCATION_FILTER", filter });
const start = (group: bigint, object = 0n) => filter({ kind: "START", start: { group, object } });
const range = (group: bigint, endGroup: bigint, endObject?: bigint) =>
  filter({
    kind: "RANGE",
    start: { group, object: 0n },
    endGroup,
    ...(endObject !== undefined && { endObject }),
  });
const priority = (value: number): MessageParameter => ({ type: "SUBSCRIBER_PRIORITY", value });
const paused: MessageParameter = { type: "FORWARD", value: 0 };

describe("what is left to ask another relay for", () => {
  test("is what the client asked for, where nothing was forwarded [LB-PMOVE-5] [LB-S91]", () => {
    for (const asked of [[], [priority(3)], [start(9n, 4n)], [filter({ kind: "NEXT_OBJECT" })]]) {
      assert.deepEqual(remainder(asked, undefined), { parameters: asked, from: 0n });
    }
  });

  test("begins with the group after the largest one forwarded [LB-PMOVE-4] [LB-PMOVE-6]", () => {
    assert.deepEqual(remainder([], 7n), { parameters: [start(8n)], from: 8n });
    const parameters = [priority(3), start(8n)];
    assert.deepEqual(remainder([priority(3)], 7n), { parameters, from: 8n });
    assert.deepEqual(remainder([filter({ kind: "RELATIVE", groupsBack: 3n }), priority(3)], 7n), {
      parameters,
      from: 8n,
    });
  });

  test("keeps the client's end [LB-S92]", () => {
    assert.deepEqual(remainder([range(2n, 12n)], 7n)?.parameters, [range(8n, 12n)]);
    assert.deepEqual(remainder([range(2n, 12n, 5n)], 11n)?.parameters, [range(12n, 12n, 5n)]);
  });

  test("is nothing once the range has been delivered [LB-S92]", () => {
    assert.equal(remainder([range(2n, 12n)], 12n), undefined);
    assert.equal(remainder([range(2n, 12n, 5n)], 12n), undefined);
    assert.equal(remainder([range(2n, 12n)], 40n), undefined);
  });

  test("does not go back behind a start that the client has moved", () => {
    assert.deepEqual(remainder([start(20n, 3n)], 7n), { parameters: [start(20n, 3n)], from: 20n });
  });

  test("leaves out what held for one message [LB-PSETUP-14] [LB-S94]", () => {
    const token: MessageParameter = {
      type: "AUTHORIZATION_TOKEN",
      token: { aliasType: "USE_ALIAS", tokenAlias: 1n } as never,
    };
    const once: MessageParameter[] = [
      token,
      { type: "FILL_PARAMETERS", parameters: [] },
      { type: "NEW_GROUP_REQUEST", value: 3n },
    ];
    assert.deepEqual(remainder([...once, paused], 7n)?.parameters, [paused, start(8n)]);
  });

  for (const draft of drafts) {
    test(`fits the wire of draft ${draft} [LB-S91] [LB-PMOVE-6]`, () => {
      for (const asked of [[], [range(0n, 200n)]]) {
        const left = remainder(asked, 127n);
        const message = {
          type: "SUBSCRIBE",
          requestId: 2n,
          trackNamespace: [utf8("live")],
          trackName: utf8("v"),
          parameters: left?.parameters ?? [],
        } as const;
        const decoded = decodeControlMessage(encodeControlMessage(message, draft), draft);
        assert.deepEqual(decoded, message);
      }
    });
  }
});

describe("an update that was accepted", () => {
  test("replaces what it names, and leaves the rest [LB-S94]", () => {
    assert.deepEqual(updated([priority(3), start(2n)], [priority(9), paused]), [
      start(2n),
      priority(9),
      paused,
    ]);
  });

  test("removes a filter [LB-S94]", () => {
    const objects: MessageParameter = {
      type: "OBJECTID_FILTER",
      filter: { kind: "RANGES", setId: 0, ranges: [{ start: 0n, end: 0n }] },
    };
    const remove: MessageParameter = { type: "OBJECTID_FILTER", filter: { kind: "REMOVE" } };
    assert.deepEqual(updated([start(2n), objects], [remove]), [start(2n)]);
    assert.deepEqual(updated([start(2n), objects], [filter({ kind: "NONE" })]), [objects]);
  });

  test("does not make last what held for itself alone [LB-S94]", () => {
    const fill: MessageParameter = { type: "FILL_PARAMETERS", parameters: [start(1n)] };
    assert.deepEqual(updated([priority(3)], [fill, { type: "NEW_GROUP_REQUEST", value: 1n }]), [
      priority(3),
    ]);
  });
});

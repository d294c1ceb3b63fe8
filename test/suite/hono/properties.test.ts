import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { type DecisionEvent, operationOf } from "../../../src/moq-lb/mod.ts";
import {
  decodeControlMessage,
  draftName,
  encodeControlMessage,
  formatName,
} from "../../../src/moqt/mod.ts";
import { anyDraftAndMessage, anyFullName } from "../moqt/arbitrary.ts";
import { request, requestTypes } from "../routing/fixtures.ts";
import { appOf, post } from "./fixtures.ts";

/** Asserts that `response` is a REQUEST_ERROR or a problem that is not our fault. */
async function assertForeseen(response: Response): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer());
  if (response.status === 200) {
    assert.equal(decodeControlMessage(body, 22).type, "REQUEST_ERROR");
    return;
  }
  assert.ok([400, 404, 405, 413, 415].includes(response.status), `${response.status}`);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(typeof JSON.parse(new TextDecoder().decode(body)).code, "string");
}

const anyDraftName = fc.constantFrom("moqt-18", "moqt-19", "moqt-20", "moqt-21", "moqt-22");

describe("whatever is posted", () => {
  test("any bytes get a REQUEST_ERROR or the name of a session error", async () => {
    const app = appOf();
    const bodies = fc.uint8Array({ maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(anyDraftName, bodies, async (draft, body) => {
        await assertForeseen(await post(app, body, { draft }));
      }),
      { numRuns: 300 },
    );
  });

  test("so do messages of any kind, whole, cut off, or with one bit flipped", async () => {
    const app = appOf();
    const places = fc.nat(0xffff);
    await fc.assert(
      fc.asyncProperty(anyDraftAndMessage(), places, async ([draft, message], place) => {
        const options = { draft: draftName(draft) };
        const bytes = encodeControlMessage(message, draft);
        await assertForeseen(await post(app, bytes, options));
        await assertForeseen(await post(app, bytes.slice(0, place % bytes.length), options));
        const flipped = bytes.slice();
        const at = place % bytes.length;
        flipped[at] = (flipped[at] as number) ^ (1 << (place % 8));
        await assertForeseen(await post(app, flipped, options));
      }),
      { numRuns: 150 },
    );
  });

  test("so do any media type and any path", async () => {
    const app = appOf();
    const types = fc.oneof(
      fc.constantFrom("application/octet-stream", "application/octet-stream;", "*/*", ";"),
      fc.string({ maxLength: 40 }).filter((text) => /^[\x20-\x7e]*$/.test(text)),
    );
    const drafts = fc.oneof(anyDraftName, fc.webSegment());
    await fc.assert(
      fc.asyncProperty(types, drafts, async (type, draft) => {
        const headers = { "content-type": type };
        await assertForeseen(await post(app, new Uint8Array([3]), { draft, headers }));
      }),
    );
  });
});

describe("whatever is asked for by GET", () => {
  const anyOperation = fc.oneof(
    fc.constantFrom(...Object.values(operationOf)),
    fc.webSegment({ size: "small" }),
  );
  const anySegment = fc.oneof(
    fc.webSegment(),
    fc.string({ unit: fc.constantFrom(..."ab-.-29%/ \\?#é\u0000") }),
    fc.string({ unit: fc.constantFrom(..."%%25eEfF0c3") }),
  );

  test("any path gets a redirect or a problem that is not our fault", async () => {
    const app = appOf();
    await fc.assert(
      fc.asyncProperty(anyOperation, anySegment, async (operation, segment) => {
        const response = await app.request(`/redirect/${operation}/${segment}`);
        if (response.status !== 307) await assertForeseen(response);
      }),
      { numRuns: 500 },
    );
  });

  test("any legal name in its text form is read as that name", async () => {
    const app = appOf();
    await fc.assert(
      fc.asyncProperty(anyFullName(), async ({ trackNamespace, trackName }) => {
        const text = formatName(trackNamespace, trackName);
        const response = await app.request(`/redirect/subscribe/${text}`);
        assert.equal(response.status, 404);
        assert.equal((await response.json()).code, "DOES_NOT_EXIST");
      }),
    );
  });
});

test("tokens and names are in no answer and no event, wherever they are put [LB-SEC-17] [LB-SEC-34] [LB-S125]", async () => {
  const secret = "s3cr3t-token-marker";
  const name = "pr1vate-name-marker";
  const events: DecisionEvent[] = [];
  const token = { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8(secret) } as const;
  const registered = { ...token, aliasType: "REGISTER", alias: 0n } as const;
  const headers = { authorization: `Bearer ${secret}` };
  const policies = [
    () => true,
    () => ({ granted: false, reason: secret }),
    () => {
      throw new Error(secret);
    },
  ];
  let answers = 0;
  for (const authorize of policies) {
    const app = appOf({
      authorization: { name: "test", authorize },
      onDecision: (event) => events.push(event),
    });
    for (const type of requestTypes) {
      for (const given of [token, registered]) {
        const parameters = [{ type: "AUTHORIZATION_TOKEN", token: given } as const];
        const message = { ...request(type, [utf8(name)], utf8(name)), parameters };
        const bytes = encodeControlMessage(message, 22);
        for (const body of [bytes, bytes.slice(0, -1), new Uint8Array([...bytes, 0])]) {
          await assertSilent(await post(app, body, { headers }));
        }
      }
      const text = formatName([utf8(name)], utf8(name));
      for (const path of [text, `${text}%20`, formatName([utf8(name)])]) {
        const response = await app.request(`/redirect/${operationOf[type]}/${path}`, { headers });
        await assertSilent(response);
      }
    }
  }
  assert.ok(events.length > 0);
  assert.doesNotMatch(JSON.stringify(events), /s3cr3t|pr1vate/);
  assert.equal(answers, policies.length * requestTypes.length * (2 * 3 + 3));

  async function assertSilent(response: Response): Promise<void> {
    answers++;
    const text = (await response.text()) + JSON.stringify([...response.headers]);
    assert.doesNotMatch(text, /s3cr3t|pr1vate/);
  }
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { ClientError } from "../../../src/client/errors.ts";
import type { Target } from "../../../src/client/target.ts";
import { Trail } from "../../../src/client/trail.ts";
import { sessionUri } from "../../../src/client/uri.ts";
import { drafts, formatName, type Redirect } from "../../../src/moqt/mod.ts";

const lb = "moqt://lb.example/moq";
const track: Target = {
  request: "SUBSCRIBE",
  uri: lb,
  trackNamespace: [utf8("live"), utf8("sports")],
  trackName: utf8("audio"),
};
const prefix: Target = {
  request: "SUBSCRIBE_NAMESPACE",
  uri: lb,
  trackNamespace: [utf8("live")],
};

function redirect(connectUri: string, namespace: readonly string[], name: string): Redirect {
  return { connectUri, trackNamespace: namespace.map(utf8), trackName: utf8(name) };
}

/** The redirect of a load balancer: the request's own name. */
function to(connectUri: string, target: Target = track): Redirect {
  const { trackNamespace, trackName = utf8("") } = target;
  return { connectUri, trackNamespace, trackName };
}

function fails(code: ClientError["code"], act: () => unknown): void {
  assert.throws(act, (error) => error instanceof ClientError && error.code === code);
}

describe("following redirects", () => {
  test("goes to the Connect URI, normalised, with the name in the Redirect [RD-01, RD-14]", () => {
    const trail = new Trail(track, 6);
    const next = trail.follow(track, to("HTTPS://R2.Example:443/moq"), 22);
    assert.equal(next.uri, "https://r2.example/moq");
    assert.equal(next.request, "SUBSCRIBE");
    assert.equal(formatName(next.trackNamespace, next.trackName), "live-sports--audio");
    assert.equal(trail.hops, 1);
  });

  test("a Redirect can name another track", () => {
    const next = new Trail(track, 6).follow(track, redirect("moqt://r1.example", ["x"], "y"), 22);
    assert.equal(formatName(next.trackNamespace, next.trackName), "x--y");
  });

  test("a zero-length Connect URI stays on the session and counts as a hop [RD-08]", () => {
    const trail = new Trail(track, 6);
    const next = trail.follow(track, redirect("", ["live"], "replacement"), 22);
    assert.equal(next.uri, lb);
    assert.equal(formatName(next.trackNamespace, next.trackName), "live--replacement");
    assert.equal(trail.hops, 1);
  });

  test("an empty target keeps the name in drafts 18 and 19, and is a name of its own later", () => {
    for (const draft of drafts) {
      const next = new Trail(track, 6).follow(track, redirect("moqt://r1.example", [], ""), draft);
      const expected = draft <= 19 ? "live-sports--audio" : "--";
      assert.equal(formatName(next.trackNamespace, next.trackName), expected, `draft ${draft}`);
    }
  });

  test("a target with only a namespace, or only a name, is literal in every draft", () => {
    for (const draft of drafts) {
      const follow = (target: Redirect) => new Trail(track, 6).follow(track, target, draft);
      const named = follow(redirect("moqt://r1.example", [], "n"));
      assert.equal(formatName(named.trackNamespace, named.trackName), "--n");
      const spaced = follow(redirect("moqt://r1.example", ["s"], ""));
      assert.equal(formatName(spaced.trackNamespace, spaced.trackName), "s--");
    }
  });

  test("a request for a namespace stays one", () => {
    const next = new Trail(prefix, 6).follow(prefix, to("moqt://r1.example", prefix), 22);
    assert.equal(next.trackName, undefined);
    assert.equal(formatName(next.trackNamespace), "live");
  });

  test("back at the same service with the same name is a loop, however it is spelled [RD-10]", () => {
    const trail = new Trail(track, 6);
    const second = trail.follow(track, to("moqt://other.example/moq"), 22);
    fails("REDIRECT_LOOP", () => trail.follow(second, to("MOQT://LB.example:443/moq"), 22));
  });

  test("a redirect to the asked session and name is a loop at once [RD-10]", () => {
    fails("REDIRECT_LOOP", () => new Trail(track, 6).follow(track, to(""), 22));
  });

  test("back at the same service with another name is none [RD-10]", () => {
    const trail = new Trail(track, 6);
    const second = trail.follow(track, to("moqt://other.example/moq"), 22);
    assert.equal(trail.follow(second, redirect(lb, ["live"], "other"), 22).uri, lb);
  });

  test("the number of redirects is limited [LB-REDIR-19, RD-10]", () => {
    const trail = new Trail(track, 3);
    let target = track;
    for (const host of ["a", "b", "c"]) {
      target = trail.follow(target, to(`moqt://${host}.example`), 22);
    }
    assert.equal(trail.hops, 3);
    fails("TOO_MANY_REDIRECTS", () => trail.follow(target, to("moqt://d.example"), 22));
  });

  test("something that is no Connect URI is not followed", () => {
    for (const uri of ["http://r1.example", "r1.example", "moqt://", "javascript:alert(1)", " "]) {
      fails("INVALID_REDIRECT", () => new Trail(track, 6).follow(track, to(uri), 22));
    }
  });

  test("whatever a Redirect says, following ends in a target or one of three errors", () => {
    const bytes = fc.uint8Array({ maxLength: 8 });
    const anyRedirect = fc.record({
      connectUri: fc.oneof(fc.string(), fc.webUrl(), fc.constantFrom("", lb, "moqt://r.example")),
      trackNamespace: fc.array(bytes, { maxLength: 4 }),
      trackName: bytes,
    });
    fc.assert(
      fc.property(
        fc.array(anyRedirect, { maxLength: 10 }),
        fc.constantFrom(...drafts),
        (all, draft) => {
          const trail = new Trail(track, 4);
          let target = track;
          try {
            for (const each of all) target = trail.follow(target, each, draft);
          } catch (error) {
            assert.ok(error instanceof ClientError);
          }
          assert.ok(trail.hops <= 4);
        },
      ),
    );
  });
});

describe("the URI of a session", () => {
  test("has one spelling for each service, a WebSocket included [RD-14]", () => {
    const spellings: [string, string | undefined][] = [
      ["MOQT://LB.Example:443", "moqt://lb.example/"],
      ["https://lb.example:4433/moqt?x=1", "https://lb.example:4433/moqt?x=1"],
      ["WSS://LB.Example:443/moqt", "wss://lb.example/moqt"],
      ["ws://127.0.0.1:8787/moqt", "ws://127.0.0.1:8787/moqt"],
      ["ws://lb.example:80/moqt", "ws://lb.example/moqt"],
      ["wss://user@lb.example/moqt", undefined],
      ["http://lb.example", undefined],
      ["lb.example", undefined],
    ];
    for (const [uri, expected] of spellings) assert.equal(sessionUri(uri), expected, uri);
  });
});

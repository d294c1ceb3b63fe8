import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { ReplayBudget, RequestContent } from "../../../src/gateway/downstream/content.ts";

/** A client's content that the test plays. */
class Source {
  paused = true;
  readableLength = 0;
  #data: (chunk: Uint8Array) => void = () => {};
  #end: () => void = () => {};
  on(event: "data" | "end", listener: (chunk: Uint8Array) => void): void {
    if (event === "data") this.#data = listener;
    else this.#end = listener as () => void;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  give(text: string): void {
    this.#data(utf8(text));
  }
  end(): void {
    this.#end();
  }
}

/** A stream to an origin. */
class Target {
  text = "";
  ended = false;
  room = true;
  #drain: (() => void) | undefined;
  write(chunk: Uint8Array): boolean {
    this.text += new TextDecoder().decode(chunk);
    return this.room;
  }
  once(_event: "drain", listener: () => void): void {
    this.#drain = listener;
  }
  off(): void {
    this.#drain = undefined;
  }
  end(): void {
    this.ended = true;
  }
  drain(): void {
    this.room = true;
    this.#drain?.();
  }
}

function bed(options: { most?: number; inAll?: number; length?: number } = {}) {
  const source = new Source();
  const budget = new ReplayBudget(options.inAll ?? 1_000);
  let mismatches = 0;
  const content = new RequestContent({
    source,
    budget,
    most: options.most ?? 100,
    length: options.length,
    moved: () => {},
    mismatched: () => mismatches++,
    ending: () => {},
  });
  return { source, budget, content, mismatches: () => mismatches };
}

describe("content of a request", () => {
  test("waits in the client's window until there is a stream for it [CG-FAIL-8]", () => {
    const { source, content } = bed();
    assert.equal(source.paused, true);
    const target = new Target();
    content.sendTo(target);
    assert.equal(source.paused, false);
    source.give("abc");
    source.end();
    assert.equal(target.text, "abc");
    assert.ok(target.ended && content.complete);
  });

  test("is sent again from its beginning, and goes on from there [CG-MAP-5, A01]", () => {
    const { source, content, budget } = bed();
    const first = new Target();
    content.sendTo(first);
    source.give("abc");
    content.detach();
    assert.equal(source.paused, true);
    assert.ok(content.replayable);
    const second = new Target();
    content.sendTo(second);
    source.give("def");
    source.end();
    assert.equal(second.text, "abcdef");
    assert.equal(first.text, "abc");
    assert.equal(budget.used, 6);
    content.close();
    assert.equal(budget.used, 0);
  });

  test("is whole again where it had ended before [CG-MAP-5]", () => {
    const { source, content } = bed();
    content.sendTo(new Target());
    source.give("abc");
    source.end();
    content.detach();
    const again = new Target();
    content.sendTo(again);
    assert.equal(again.text, "abc");
    assert.ok(again.ended);
  });

  test("is not kept beyond its bound, nor beyond that of all requests together [A09, CG-FAIL-8]", () => {
    const { source, content, budget } = bed({ most: 4 });
    content.sendTo(new Target());
    source.give("abc");
    assert.ok(content.replayable);
    source.give("de");
    assert.ok(!content.replayable);
    assert.equal(budget.used, 0);
    const crowded = bed({ inAll: 2 });
    crowded.content.sendTo(new Target());
    crowded.source.give("abc");
    assert.ok(!crowded.content.replayable);
    assert.equal(crowded.budget.used, 0);
  });

  test("comes at the pace of the origin [J01]", () => {
    const { source, content } = bed();
    const target = new Target();
    target.room = false;
    content.sendTo(target);
    source.give("abc");
    assert.equal(source.paused, true);
    assert.ok(!content.awaited, "the origin is waited for, not the client");
    target.drain();
    assert.equal(source.paused, false);
    assert.ok(content.awaited);
  });

  test("that comes although nobody takes it is kept for the next one", () => {
    const { source, content } = bed();
    content.sendTo(new Target());
    content.detach();
    source.give("late");
    const next = new Target();
    content.sendTo(next);
    assert.equal(next.text, "late");
  });

  test("is as long as Content-Length says, or the request is malformed", () => {
    const longer = bed({ length: 2 });
    const target = new Target();
    longer.content.sendTo(target);
    longer.source.give("abc");
    assert.equal(longer.mismatches(), 1);
    assert.equal(target.text, "");
    const shorter = bed({ length: 4 });
    shorter.content.sendTo(target);
    shorter.source.give("abc");
    shorter.source.end();
    assert.equal(shorter.mismatches(), 1);
    assert.ok(!target.ended);
  });
});

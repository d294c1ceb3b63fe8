import assert from "node:assert/strict";
import { describe, test } from "#test";
import { NamespaceChanges } from "../../../src/client/namespace-changes.ts";
import { formatName } from "../../../src/moqt/mod.ts";
import { namespace } from "./tracks.ts";

async function rest(changes: NamespaceChanges): Promise<string[]> {
  changes.end();
  const lines: string[] = [];
  for await (const { type, trackNamespace } of changes) {
    lines.push(`${type === "NAMESPACE" ? "+" : "-"}${formatName(trackNamespace)}`);
  }
  return lines;
}

describe("changes of namespaces", () => {
  const [a, b] = [namespace("live/a"), namespace("live/b")];

  test("are told in order", async () => {
    const changes = new NamespaceChanges();
    const source = {};
    changes.add(source, a);
    changes.add(source, b);
    assert.equal((await changes.next()).value?.type, "NAMESPACE");
    changes.remove(source, a);
    assert.deepEqual(await rest(changes), ["+live-b", "-live-a"]);
  });

  test("that undo each other before they are read leave nothing to tell", async () => {
    const changes = new NamespaceChanges();
    const source = {};
    for (let i = 0; i < 1000; i++) {
      changes.add(source, a);
      changes.remove(source, a);
    }
    changes.add(source, b);
    await changes.next();
    changes.remove(source, b);
    changes.add(source, b);
    assert.deepEqual(await rest(changes), []);
  });

  test("count every source: the last that goes takes the namespace away", async () => {
    const changes = new NamespaceChanges();
    const [old, next] = [{}, {}];
    changes.add(old, a);
    changes.add(old, b);
    changes.add(next, a);
    await changes.next();
    await changes.next();
    changes.removeAll(old);
    changes.remove(old, a);
    assert.deepEqual(await rest(changes), ["-live-b"]);
  });

  test("that do not come any more end in an error where there is one, once", async () => {
    const changes = new NamespaceChanges();
    changes.add({}, a);
    changes.end(new Error("lost"));
    changes.add({}, b);
    assert.equal((await changes.next()).value?.type, "NAMESPACE");
    await assert.rejects(changes.next(), /lost/);
    assert.deepEqual(await changes.next(), { value: undefined, done: true });
  });

  test("wake whoever waits for them", async () => {
    const changes = new NamespaceChanges();
    const next = changes.next();
    changes.add({}, a);
    assert.equal((await next).value?.type, "NAMESPACE");
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { ClientError } from "../../../src/client/errors.ts";
import { type PooledSession, SessionPool } from "../../../src/client/session-pool.ts";
import { settle } from "../../support/settle.ts";

class FakeSession implements PooledSession {
  usable = true;
  wasClosed = false;
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;

  close(): void {
    this.wasClosed = true;
    this.end();
  }

  end(): void {
    this.usable = false;
    this.#closed.resolve();
  }
}

/** A pool, and every session that it has made, by URI. */
function pool(open = async () => new FakeSession()) {
  const made: { uri: string; session: FakeSession }[] = [];
  const sessions = new SessionPool<FakeSession>({
    open: async (uri) => {
      const session = await open();
      made.push({ uri, session });
      return session;
    },
  });
  return { sessions, made };
}

const r1 = "moqt://r1.example/";
const r2 = "moqt://r2.example/";

describe("the sessions of a client", () => {
  test("are one for each URI [LB-REDIR-11, LB-REDIR-12, RD-14]", async () => {
    const { sessions, made } = pool();
    const first = await sessions.get(r1);
    const other = await sessions.get(r2);
    assert.equal(await sessions.get(r1), first);
    assert.notEqual(other, first);
    assert.deepEqual(
      made.map(({ uri }) => uri),
      [r1, r2],
    );
    assert.equal(sessions.size, 2);
  });

  test("are one even while it is being made [RD-14]", async () => {
    const { sessions, made } = pool();
    const [first, second] = await Promise.all([sessions.get(r1), sessions.get(r1)]);
    assert.equal(first, second);
    assert.equal(made.length, 1);
  });

  test("a session that takes no new requests is replaced and left alone [LB-S100]", async () => {
    const { sessions } = pool();
    const first = await sessions.get(r1);
    first.usable = false;
    const second = await sessions.get(r1);
    assert.notEqual(second, first);
    assert.equal(first.wasClosed, false);
    assert.equal(await sessions.get(r1), second);
    assert.equal(sessions.size, 2);
  });

  test("a session that ended is made anew when it is needed [LB-REDIR-17]", async () => {
    const { sessions, made } = pool();
    (await sessions.get(r1)).end();
    await settle();
    assert.equal(sessions.size, 0);
    const next = await sessions.get(r1);
    assert.equal(next.usable, true);
    assert.equal(made.length, 2);
  });

  test("the end of a replaced session does not take its successor away", async () => {
    const { sessions, made } = pool();
    const first = await sessions.get(r1);
    first.usable = false;
    const second = await sessions.get(r1);
    first.end();
    await settle();
    assert.equal(await sessions.get(r1), second);
    assert.equal(made.length, 2);
  });

  test("a failure is told to everybody who waits, and not remembered", async () => {
    let tries = 0;
    const { sessions } = pool(async () => {
      tries++;
      if (tries === 1) throw new ClientError("CONNECT_FAILED", "refused");
      return new FakeSession();
    });
    const results = await Promise.allSettled([sessions.get(r1), sessions.get(r1)]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal((await sessions.get(r1)).usable, true);
    assert.equal(tries, 2);
  });

  test("whoever stops waiting does not take the session from others", async () => {
    const opening = Promise.withResolvers<FakeSession>();
    const { sessions } = pool(() => opening.promise);
    const impatient = new AbortController();
    const given = sessions.get(r1, impatient.signal);
    const patient = sessions.get(r1);
    impatient.abort(new Error("enough"));
    await assert.rejects(given, /enough/);
    opening.resolve(new FakeSession());
    assert.equal((await patient).usable, true);
  });

  test("closing ends every session, replaced ones too, and those that come up later", async () => {
    const opening = Promise.withResolvers<FakeSession>();
    let isSlow = false;
    const { sessions, made } = pool(() =>
      isSlow ? opening.promise : Promise.resolve(new FakeSession()),
    );
    (await sessions.get(r1)).usable = false;
    await sessions.get(r1);
    isSlow = true;
    const late = sessions.get(r2);
    sessions.close();
    opening.resolve(new FakeSession());
    await assert.rejects(late, { code: "CLOSED" });
    await assert.rejects(sessions.get(r1), { code: "CLOSED" });
    assert.equal(made.length, 3);
    assert.ok(made.every(({ session }) => session.wasClosed));
  });
});

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { AgentClient, type AgentClientOptions, AgentRefusal } from "../../src/agent/client.ts";
import { agentApp } from "../../src/agent/http/app.ts";
import { createAgent, type Operator, type Role } from "../../src/agent/mod.ts";
import { simulate } from "../../src/agent/simulate.ts";
import type { Fetch } from "../../src/report/mod.ts";
import { generateSigningKey, type SigningKey, trustSigningKeys } from "../../src/snapshot/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";

const pool = {
  relays: [
    { rid: "r1", uri: "https://r1.example/moq", probe: "none" },
    { rid: "r2", uri: "https://r2.example/moq", probe: "none" },
  ],
  routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", "r2"] }],
};
const R2 = "7232";

interface Bed {
  readonly client: (key?: SigningKey, options?: Partial<AgentClientOptions>) => AgentClient;
  readonly agent: ReturnType<typeof createAgent>;
  readonly fetch: Fetch;
}

/** Runs `body` beside an agent in memory whose HTTP interface is called without a network. */
async function withAgent(roles: readonly Role[], body: (bed: Bed) => Promise<void>): Promise<void> {
  const signingKey = await generateSigningKey("agent");
  const operatorKey = await generateSigningKey("ada");
  const { publicKey, kid } = operatorKey;
  const operators = new Map<string, Operator>([[kid, { name: "Ada", roles, key: publicKey, kid }]]);
  const agent = createAgent({
    agentId: "a1",
    store: memoryStore(),
    signingKey,
    trustedKeys: trustSigningKeys(signingKey),
    maximumAge: 3_600_000,
    operators,
    operatorSignatures: new Set(["publish", "rollback"]),
  });
  await agent.start();
  const app = agentApp({ agent, operators, simulate, now: Date.now });
  const fetch: Fetch = (url, init) => Promise.resolve(app.request(url, init));
  const client = (key = operatorKey, options: Partial<AgentClientOptions> = {}) =>
    new AgentClient({ url: "https://agent.example", key, fetch, ...options });
  try {
    await body({ client, agent, fetch });
  } finally {
    await agent.stop();
  }
}

function refusal(code: string): (error: unknown) => boolean {
  return (error) => error instanceof AgentRefusal && error.code === code;
}

describe("the operator's client", () => {
  test("publishes, drains, weighs and rolls back with signed actions [LB-ROT-4] [LB-ROT-5]", () =>
    withAgent(["routes"], async ({ client }) => {
      const ada = client();
      assert.equal((await ada.publish(JSON.stringify(pool), "begin")).version, 1);
      assert.equal((await ada.act({ type: "drain", rid: R2 }, "disk")).version, 2);
      assert.equal((await ada.act({ type: "weight", rid: R2, weight: 4 }, "larger")).version, 3);
      assert.equal((await ada.rollback(1, "as it was")).version, 4);
      const nobody = ada.act({ type: "drain", rid: "aa" }, "");
      await assert.rejects(nobody, refusal("UNKNOWN_RELAY"));
      assert.deepEqual(
        (await ada.history()).map(({ version, cause, operator, rolledBackTo }) => [
          version,
          cause,
          operator?.name,
          operator?.reason,
          operator?.signed,
          rolledBackTo,
        ]),
        [
          [4, "rollback", "Ada", "as it was", true, 1],
          [3, "weight", "Ada", "larger", true, undefined],
          [2, "drain", "Ada", "disk", true, undefined],
          [1, "first", "Ada", "begin", true, undefined],
        ],
      );
      assert.deepEqual(
        (await ada.history({ before: 3, limit: 1 })).map(({ version }) => version),
        [2],
      );
      const three = await ada.snapshotAt(3);
      assert.equal(three.relays[1]?.health, "draining");
      const status = await ada.status();
      assert.equal(status.current?.version, 4);
      assert.deepEqual(
        status.relays.map(({ name, health, weights }) => [name, health, weights]),
        [
          ["r1", "healthy", [1]],
          ["r2", "healthy", [1]],
        ],
      );
    }));

  test("signs anew where another version came first [LB-SEC-7]", () =>
    withAgent(["routes"], async ({ client, agent, fetch }) => {
      await client().publish(pool, "begin");
      let posts = 0;
      const raced = client(undefined, {
        fetch: async (url, init) => {
          if (init.method === "POST" && posts++ < 2) {
            const type = posts === 1 ? "drain" : "undrain";
            await client().act({ type, rid: R2 }, "before you");
          }
          return fetch(url, init);
        },
      });
      const { version } = await raced.act({ type: "health", rid: R2, health: "unhealthy" }, "now");
      assert.equal(version, 4);
      assert.equal(posts, 3);
      assert.equal(agent.current?.version, 4);
    }));

  test("tells why the agent refuses: role, key, relay, version, pool", () =>
    withAgent(["pool"], async ({ client, agent }) => {
      await assert.rejects(client().publish(pool, "mine"), refusal("FORBIDDEN"));
      await assert.rejects(client().publish({ relays: [] }, "broken"), {
        code: "INVALID_SNAPSHOT",
      });
      const stranger = await generateSigningKey("eve");
      await assert.rejects(client(stranger).status(), refusal("UNAUTHENTICATED"));
      const impostor = await generateSigningKey("ada");
      await assert.rejects(client(impostor).history(), refusal("UNAUTHENTICATED"));
      await assert.rejects(client().version(9), refusal("UNKNOWN_VERSION"));
      const early = client().act({ type: "drain", rid: R2 }, "");
      await assert.rejects(early, refusal("UNKNOWN_VERSION"));
      assert.equal(agent.current, undefined);
      const refused = (await client().refusals()).map(({ type, code }) => [type, code]);
      assert.deepEqual(refused[0], ["publish", "FORBIDDEN"]);
    }));

  test("does not take for an agent what is none, and waits no longer than it should", async () => {
    const key = await generateSigningKey("ada");
    const against = (fetch: AgentClientOptions["fetch"], timeout = 5000) =>
      new AgentClient({ url: "https://agent.example", key, timeout, ...(fetch && { fetch }) });
    const answers: readonly Response[] = [
      new Response("<html>", { status: 200 }),
      new Response("{}", { status: 502 }),
      new Response(null, { status: 302, headers: { location: "https://evil.example/" } }),
    ];
    for (const answer of answers) {
      const client = against(() => Promise.resolve(answer));
      await assert.rejects(client.status(), refusal("NO_AGENT"));
    }
    const hanging = against((_, { signal }) => {
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    }, 20);
    await assert.rejects(hanging.status(), refusal("UNREACHABLE"));
  });

  test("sends tokens to https and to the loopback interface alone [LB-CONF-20]", async () => {
    const key = await generateSigningKey("ada");
    for (const url of ["http://agent.example", "ftp://a.example", "https://u:p@a.example", "x"]) {
      assert.throws(() => new AgentClient({ url, key }), { code: "INVALID_CONFIGURATION" });
    }
    assert.ok(new AgentClient({ url: "http://127.0.0.1:8788", key }));
  });

  test("makes links that sign a browser in", () =>
    withAgent(["view"], async ({ client }) => {
      assert.match(
        await client().loginLink(),
        /^https:\/\/agent\.example\/login\?token=[\w-]+\.[\w-]+\.[\w-]+$/,
      );
    }));
});

/** An agent's app with operators, instances and somebody to ask it. */

import assert from "node:assert/strict";
import type { Hono } from "hono";
import { signOperatorToken } from "../../../src/agent/action.ts";
import type { AgentAppOptions } from "../../../src/agent/http/options.ts";
import { instanceToken } from "../../../src/report/mod.ts";
import { generateSigningKey, type SigningKey } from "../../../src/snapshot/mod.ts";
import {
  AgentDouble,
  appFor,
  CollectorDouble,
  noon,
  type Person,
  person,
  poolOf,
} from "../../support/agent-double.ts";

export const origin = "http://agent.example";

/** Alice may do everything, Paul change the pool, Vera look. */
export interface World {
  readonly agent: AgentDouble;
  readonly collector: CollectorDouble;
  readonly alice: Person;
  readonly paul: Person;
  readonly vera: Person;
  readonly edgeKey: SigningKey;
  readonly app: Hono;
  /** What the app told of errors that nobody foresaw. */
  readonly errors: unknown[];
  /** `GET` by an operator's bearer token. */
  get(path: string, who?: Person, headers?: Record<string, string>): Promise<Response>;
  /** `GET` by the instance edge-1. */
  getAsInstance(path: string, headers?: Record<string, string>): Promise<Response>;
}

/** The marks of the pool that strangers must never see. */
export const secrets = ["marshalling-yard-7", "relays.secret.example", "6d61727368616c6c"];

/** Version 7: two relays below example.com. */
export async function world(options: Partial<AgentAppOptions> = {}): Promise<World> {
  const agent = new AgentDouble();
  const uri = "https://relays.secret.example/moq";
  agent.put(poolOf([{ rid: "marshalling-yard-7", uri }], 6));
  agent.put(poolOf([{ rid: "marshalling-yard-7", uri }, { rid: "r2" }], 7), {
    changes: ["relay r2 added"],
  });
  const collector = new CollectorDouble();
  const [alice, paul, vera, edgeKey] = await Promise.all([
    person("alice", ["routes"]),
    person("paul", ["pool"]),
    person("vera", ["view"]),
    generateSigningKey(),
  ]);
  const errors: unknown[] = [];
  const app = appFor(agent, [alice, paul, vera], {
    collector,
    instances: new Map([["edge-1", edgeKey.publicKey]]),
    metrics: { render: async () => "yardmaster_relays 2\n" },
    onError: (error) => errors.push(error),
    ...options,
  });
  const get = async (path: string, who = vera, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${await signOperatorToken(who.key, noon)}`;
    return app.request(origin + path, { headers: { authorization, ...headers } });
  };
  const getAsInstance = async (path: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${await instanceToken("edge-1", edgeKey, noon)}`;
    return app.request(origin + path, { headers: { authorization, ...headers } });
  };
  return { agent, collector, alice, paul, vera, edgeKey, app, errors, get, getAsInstance };
}

/** A browser in which somebody signed in. */
export class Browser {
  readonly #app: Hono;
  #cookie: string;

  constructor(app: Hono, cookie: string) {
    this.#app = app;
    this.#cookie = cookie;
  }

  get cookie(): string {
    return this.#cookie;
  }

  async get(path: string): Promise<Response> {
    return this.#app.request(origin + path, { headers: { cookie: this.#cookie } });
  }

  /** The secret that forms on `path` carry. */
  async csrf(path = "/"): Promise<string> {
    const found = /name="csrf" value="([0-9a-f]{64})"/.exec(await (await this.get(path)).text());
    assert.ok(found, "the page has a form");
    return found[1] as string;
  }

  /** Posts a form as a page of ours does; `headers` may say otherwise. */
  async post(
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return postForm(this.#app, path, fields, { cookie: this.#cookie, ...headers });
  }
}

export async function postForm(
  app: Hono,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return app.request(origin + path, {
    method: "POST",
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin, ...headers },
  });
}

/** Signs somebody in by the form. */
export async function signIn({ app }: Pick<World, "app">, who: Person): Promise<Browser> {
  const token = await signOperatorToken(who.key, noon);
  const response = await postForm(app, "/login", { token });
  assert.equal(response.status, 303);
  return new Browser(app, (response.headers.get("set-cookie") ?? "").split(";")[0] as string);
}

/** The problem document of a response, which has to have this status and code. */
export async function problemOf(response: Response, status: number, code: string) {
  const body = (await response.json()) as Record<string, unknown>;
  assert.deepEqual([response.status, body.code], [status, code]);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(body.status, status);
  return body;
}

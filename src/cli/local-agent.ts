/**
 * An agent of our own on the home's store, for as long as one command takes.
 *
 * @module
 */

import {
  type Agent,
  AgentError,
  type Authority,
  createAgent,
  type OperatorAction,
  type OperatorRequest,
  type Published,
  signAction,
} from "../agent/mod.ts";
import { sha256Hex } from "../digest.ts";
import { encodeSnapshot, type SigningKey, type Snapshot } from "../snapshot/mod.ts";
import { InputError } from "./errors.ts";
import { type Home, readSigningKey, readTrustedKeys } from "./home.ts";
import { hasOperatorKey, readHomeOperators, readOperatorKey } from "./people.ts";

/** Milliseconds; only how long an agent keeps a version fresh depends on it, which this one ends before. */
const MAXIMUM_AGE = 3_600_000;

/** How often an action is made anew for another version: the store may hold half-done ones. */
const ATTEMPTS = 3;

/** What a command does with its agent. */
export interface LocalAgent {
  readonly agent: Agent;
  /** The home's operator, where its own list knows the key. */
  readonly operator?: SigningKey;
}

/**
 * Runs `body` with an agent on the home's store, which publishes as long as that takes.
 *
 * @param now milliseconds of the Unix epoch
 * @throws {InputError} a key is missing or not trusted, another agent publishes from the store, or
 *   the agent refuses
 */
export async function withLocalAgent<T>(
  home: Home,
  now: () => number,
  body: (local: LocalAgent) => Promise<T>,
): Promise<T> {
  const [signingKey, trustedKeys, operators] = await Promise.all([
    readSigningKey(home.keys),
    readTrustedKeys(home.keys),
    readHomeOperators(home),
  ]);
  if (!trustedKeys.has(signingKey.kid)) {
    throw new InputError(
      `${home.keys.signing}: this key is not among ${home.keys.trusted}; yard keygen --rotate ` +
        "makes one that is",
    );
  }
  const key = (await hasOperatorKey(home)) ? await readOperatorKey(home) : undefined;
  const agent = createAgent({
    agentId: "yard",
    store: home.store,
    signingKey,
    trustedKeys,
    maximumAge: MAXIMUM_AGE,
    operators,
    operatorSignatures: new Set(),
    oneShot: true,
    now,
  });
  try {
    await agent.start();
    return await body({ agent, ...(key && operators.has(key.kid) && { operator: key }) });
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new InputError(`${home.directory}: ${error.message}${hintFor(error)}`, error);
  } finally {
    await agent.stop();
  }
}

/** The code, and what helps where that is not plain. */
function hintFor({ code }: AgentError): string {
  const hints: Readonly<Record<string, string>> = {
    NOT_PUBLISHING: "; it does what operators sign: yard keygen --operator NAME makes a key",
    SIGNATURE_REQUIRED: "; yard keygen --operator NAME makes a key for that",
  };
  return ` (${code})${hints[code] ?? ""}`;
}

/**
 * Does what `requestFor` asks for as the next version: signed by the home's operator, or on the
 * strength of the signing key where there is none.
 *
 * @throws {AgentError}
 */
export async function actLocally(
  { agent, operator }: LocalAgent,
  now: () => number,
  reason: string,
  requestFor: (newVersion: number) => Promise<OperatorRequest>,
  perform: (action: OperatorAction, authority: Authority) => Promise<Published>,
): Promise<Published> {
  let current = agent.current?.version ?? 0;
  for (let attempt = 1; ; attempt++) {
    const newVersion = current + 1;
    const action = { ...(await requestFor(newVersion)), newVersion, reason };
    const authority: Authority =
      operator === undefined
        ? { kind: "local" }
        : { kind: "signed", jws: await signAction(action, operator, now()) };
    try {
      return await perform(action, authority);
    } catch (error) {
      const moved = error instanceof AgentError && error.code === "VERSION_MOVED";
      if (!moved || error.currentVersion === undefined || attempt === ATTEMPTS) throw error;
      current = error.currentVersion;
    }
  }
}

/** The request that signs for a pool as the next version. */
export function publishAction(
  snapshot: Snapshot,
): (newVersion: number) => Promise<OperatorRequest> {
  return async (version) => ({
    type: "publish",
    digest: await sha256Hex(encodeSnapshot({ ...snapshot, version })),
  });
}

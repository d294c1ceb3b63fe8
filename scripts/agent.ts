/**
 * The Configuration Agent of `npm start`: on the home's store, with the home's operator, probing the
 * relays beside it.
 */

import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { type RunningAgent, runAgent } from "../src/agent/run.ts";
import { exists, type Home, readJson, readSigningKey, readTrustedKeys } from "../src/cli/home.ts";
import {
  createInstanceKey,
  createOperatorKey,
  hasOperatorKey,
  readHomeOperators,
} from "../src/cli/people.ts";
import { certificateHash } from "../src/quic/mod.ts";
import { importTrustedKeys } from "../src/snapshot/mod.ts";

/** The ID of the instance of `npm start`. */
export const instanceId = "local";

/** The file with the key by which that instance reports. */
export function instanceKeyFile(home: Home): string {
  return join(home.keys.directory, `instance-${instanceId}.jwk`);
}

/**
 * Makes whoever runs this the operator of the home where it has none, and the instance one that the
 * agent knows.
 */
export async function ensurePeople(home: Home): Promise<void> {
  const files = { ...home.keys, lists: home.directory };
  if (!(await hasOperatorKey(home))) {
    await createOperatorKey(files, { name: userInfo().username, roles: ["routes"] }, false);
  }
  if (!(await exists(instanceKeyFile(home)))) await createInstanceKey(files, instanceId, false);
}

/**
 * Runs the agent; resolves once it publishes.
 *
 * @param port 0 for a free one
 * @param maximumAge milliseconds
 */
export async function startAgent(
  home: Home,
  port: number,
  maximumAge: number,
  log: (line: string) => void,
): Promise<RunningAgent> {
  const [signingKey, trustedKeys, operators, instances, certificatePem] = await Promise.all([
    readSigningKey(home.keys),
    readTrustedKeys(home.keys),
    readHomeOperators(home),
    readJson(join(home.directory, "instances.json")).then(importTrustedKeys),
    readFile(join(home.directory, "development-certificate.pem"), "utf8"),
  ]);
  const hash = await certificateHash({ certificatePem, keyPem: "" });
  const running = await runAgent(
    {
      file: home.directory,
      agentId: "npm-start",
      listen: { hostname: "127.0.0.1", port },
      store: `file:${join(home.directory, "store")}`,
      signingKey,
      trustedKeys,
      maximumAge,
      operators,
      operatorSignatures: new Set(),
      instances,
      health: {},
      probeTrust: { certificateHashes: [hash] },
    },
    { log },
  );
  await running.started;
  return running;
}

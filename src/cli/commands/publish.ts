import { versionKey } from "../../snapshot/mod.ts";
import { writeWhole } from "../../store/atomic-file.ts";
import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { command } from "../command.ts";
import { InputError, UsageError } from "../errors.ts";
import { exposureOf, type Home, homeAt } from "../home.ts";
import { sourceName } from "../input.ts";
import { openDeployment } from "../open-deployment.ts";
import { readSnapshotFile } from "../snapshot-file.ts";
import { messageStyle, print, printJson, tell } from "../terminal.ts";

/** `yard publish`: a pool becomes what is in force. */
export const publish = command({
  name: "publish",
  summary: "publish a pool through the agent, or sign it into the local store",
  args: {
    file: {
      type: "positional",
      description: "a pool as JSON (as CBOR diagnostic notation in a .diag file); - reads stdin",
    },
    next: {
      type: "boolean",
      description: "publish as the version after the current one, whatever the file says",
    },
    ...reasonOption,
    ...agentOptions,
    out: {
      type: "string",
      valueHint: "FILE",
      description:
        "write the signed snapshot into a file too, for a store that is elsewhere; not with an agent",
    },
    json: { type: "boolean", description: "print version, digest and kid as JSON" },
  },
  details: [
    "A version in the file has to be above the current one: load balancers refuse anything else\n" +
      "(LB-ROT-3). Without one it is the next, which an agent takes in any case.",
    whereDetails,
  ],
  examples: [
    "publish pool.json",
    'publish pool.json --next --reason "as it was before"',
    "publish pool.json --out snapshot.cbor",
  ],
  async run({ file, next, reason: why, out, json, ...where }) {
    const reason = reasonOf(why);
    const pool = await readSnapshotFile(file);
    const deployment = await openDeployment(where);
    if (out !== undefined && deployment.live) {
      throw new UsageError("option --out is for where no agent runs; GET /v1/snapshot has its own");
    }
    const options = { next, reason, source: sourceName(file) };
    const { version, digest, kid, replaced } = await deployment.publish(pool, options);
    const home = homeAt(where.home);
    if (out !== undefined) await copyEnvelope(home, version, out);
    const style = messageStyle();
    const exposed = deployment.live ? undefined : await exposureOf(home.keys);
    for (const warning of [replaced, exposed]) {
      if (warning !== undefined) tell(`${style.yellow("warning:")} ${warning}`);
    }
    if (json) printJson({ version, digest, kid });
    else {
      print(`version ${version}`);
      print(`digest  ${digest}`);
      print(`kid     ${kid}`);
    }
    return undefined;
  },
});

/** @throws {InputError} the file cannot be written */
async function copyEnvelope(home: Home, version: number, path: string): Promise<void> {
  const envelope = await home.store.get(versionKey(version));
  try {
    await writeWhole(path, envelope as Uint8Array);
  } catch (cause) {
    throw new InputError(`${path}: cannot be written; version ${version} is published`, cause);
  }
}

import { versionKey } from "../../snapshot/mod.ts";
import { writeWhole } from "../../store/atomic-file.ts";
import { command } from "../command.ts";
import { InputError } from "../errors.ts";
import { exposureOf, type Home, homeAt } from "../home.ts";
import { sourceName } from "../input.ts";
import { publishLocally } from "../publish.ts";
import { readSnapshotFile } from "../snapshot-file.ts";
import { messageStyle, print, printJson, tell } from "../terminal.ts";

/** `yard publish`: signs a snapshot into the local store. */
export const publish = command({
  name: "publish",
  summary: "sign a snapshot and publish it in the local store",
  args: {
    file: {
      type: "positional",
      description:
        "a snapshot as JSON (as CBOR diagnostic notation in a .diag file); - reads stdin",
    },
    next: {
      type: "boolean",
      description: "publish as the version after the current one, whatever the file says",
    },
    home: {
      type: "string",
      valueHint: "DIR",
      description: "folder of keys and store (default $YARDMASTER_HOME or .yardmaster)",
    },
    out: {
      type: "string",
      valueHint: "FILE",
      description: "write the signed snapshot into a file too, for a store that is elsewhere",
    },
    json: { type: "boolean", description: "print version, digest and kid as JSON" },
  },
  details: [
    "The version has to be above the current one: load balancers refuse anything else (LB-ROT-3).\n" +
      "To roll back, publish the earlier file with --next.",
  ],
  examples: [
    "publish snapshot.json",
    "publish snapshot-before.json --next",
    "publish snapshot.json --out snapshot.cbor",
  ],
  async run({ file, next, home: directory, out, json }) {
    const snapshot = await readSnapshotFile(file);
    const home = homeAt(directory);
    const { replaced, ...published } = await publishLocally(snapshot, {
      home,
      next,
      now: Date.now(),
      source: sourceName(file),
    });
    if (out !== undefined) await copyEnvelope(home, published.version, out);
    const style = messageStyle();
    for (const warning of [replaced, await exposureOf(home.keys)]) {
      if (warning !== undefined) tell(`${style.yellow("warning:")} ${warning}`);
    }
    if (json) printJson(published);
    else {
      print(`version ${published.version}`);
      print(`digest  ${published.digest}`);
      print(`kid     ${published.kid}`);
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

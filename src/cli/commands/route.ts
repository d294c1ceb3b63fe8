import { parseName } from "../../moqt/mod.ts";
import { explainRoute } from "../../routing/mod.ts";
import { command } from "../command.ts";
import { readCurrent } from "../current.ts";
import { InputError } from "../errors.ts";
import { explanationLines, explanationToJson, type UsedSnapshot } from "../explanation.ts";
import { homeAt, readTrustedKeys } from "../home.ts";
import { sourceName } from "../input.ts";
import { readNameArgument } from "../name-argument.ts";
import { readSnapshotFile } from "../snapshot-file.ts";
import { print, printJson, resultStyle, tell } from "../terminal.ts";

/** `yard route`: where requests for a namespace go, and why. */
export const route = command({
  name: "route",
  summary: "show which relay a namespace is placed on, and why",
  args: {
    namespace: {
      type: "positional",
      description: "a Track Namespace in MOQT text form; a Track Name after -- is left aside",
    },
    snapshot: {
      type: "string",
      valueHint: "FILE",
      description:
        "use this snapshot (JSON, or .diag) instead of the current one of the local store",
    },
    home: {
      type: "string",
      valueHint: "DIR",
      description: "folder of the local store (default $YARDMASTER_HOME or .yardmaster)",
    },
    json: { type: "boolean", description: "print the explanation as JSON, hashes in full" },
  },
  details: [
    'Text form: fields joined by "-"; letters, digits and "_" stand for themselves, any other byte is\n' +
      '"." and two lower-case hexadecimal digits. (example.com, m1) is example.2ecom-m1.',
  ],
  examples: ["route example.2ecom-m1", "route example.2ecom-m1 --snapshot snapshot.json --json"],
  async run({ namespace: text, snapshot: file, home, json }) {
    const { trackNamespace, trackName } = readNameArgument(text, parseName);
    if (trackName !== undefined) {
      tell("note: the Track Name is left aside; requests are routed by their namespace alone");
    }
    const used = await (file === undefined ? snapshotOfStore(home) : snapshotOfFile(file));
    const explanation = explainRoute(used.snapshot, trackNamespace);
    if (json) printJson(explanationToJson(trackNamespace, used, explanation));
    else print(explanationLines(trackNamespace, used, explanation, resultStyle()).join("\n"));
    return undefined;
  },
});

async function snapshotOfFile(path: string): Promise<UsedSnapshot> {
  const { snapshot, version } = await readSnapshotFile(path);
  return { snapshot, source: sourceName(path), ...(version === undefined && { unnumbered: true }) };
}

async function snapshotOfStore(directory: string | undefined): Promise<UsedSnapshot> {
  const home = homeAt(directory);
  const trusted = await readTrustedKeys(home.keys);
  const { verified, fault } = await readCurrent(home, trusted, Date.now());
  if (verified === undefined) {
    const reason = fault ?? "the store has no snapshot; yard publish FILE puts one there";
    throw new InputError(`${home.directory}: ${reason}`);
  }
  return { ...verified, source: home.directory };
}

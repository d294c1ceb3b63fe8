import { lintSnapshot, type Problem } from "../../snapshot/mod.ts";
import { command } from "../command.ts";
import { exitStatus } from "../errors.ts";
import { sourceName } from "../input.ts";
import { inspectSnapshotFile, type PoolFile, problemLine } from "../snapshot-file.ts";
import { messageStyle, print, printJson, tell } from "../terminal.ts";

/** `yard validate`: every problem of a pool or snapshot, with its path and the rule it breaks. */
export const validate = command({
  name: "validate",
  summary: "check a pool or snapshot and list every problem",
  args: {
    file: {
      type: "positional",
      description: "a pool as JSON (as CBOR diagnostic notation in a .diag file); - reads stdin",
    },
    json: { type: "boolean", description: "print the problems and warnings as JSON" },
  },
  details: [
    "Prints one line for each problem on standard error: FILE: PATH: what is wrong [REQUIREMENT].\n" +
      "Warnings leave it valid.",
  ],
  examples: ["validate snapshot.json"],
  async run({ file, json }) {
    const reading = await inspectSnapshotFile(file);
    const { snapshot, problems = [] } = reading;
    const warnings = snapshot === undefined ? [] : lintSnapshot(snapshot);
    if (json) {
      printJson({ file: sourceName(file), valid: snapshot !== undefined, problems, warnings });
    } else {
      tellFindings(file, problems, warnings);
      if (reading.snapshot !== undefined) print(`${sourceName(file)}: valid, ${summary(reading)}`);
    }
    return snapshot === undefined ? exitStatus.invalidInput : exitStatus.success;
  },
});

function tellFindings(file: string, problems: readonly Problem[], warnings: readonly Problem[]) {
  const style = messageStyle();
  for (const problem of problems) tell(problemLine(file, problem));
  for (const warning of warnings) {
    tell(`${style.yellow("warning:")} ${problemLine(file, warning)}`);
  }
}

/** `version 7, 3 relays, 1 route` */
function summary({ version, snapshot: { relays, routes } }: PoolFile): string {
  const numbered = version === undefined ? "" : `version ${version}, `;
  return `${numbered}${count(relays.length, "relay")}, ${count(routes.length, "route")}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

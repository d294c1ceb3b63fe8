import { utf8 } from "../../bytes.ts";
import { formatName, parseName } from "../../moqt/mod.ts";
import { command } from "../command.ts";
import { exitStatus, InputError } from "../errors.ts";
import { liveOptions, uriArgument, withClient } from "../live.ts";
import { readNameArgument } from "../name-argument.ts";
import { countOption } from "../option-values.ts";
import { writeOut } from "../terminal.ts";

/** `yard namespaces`: which namespaces have publishers, as that changes. */
export const namespaces = command({
  name: "namespaces",
  summary: "watch which namespaces are published under a prefix",
  args: {
    uri: uriArgument,
    prefix: { type: "positional", description: "a Track Namespace Prefix, in MOQT text form" },
    json: { type: "boolean", description: "print a line of JSON for each change" },
    count: { type: "string", valueHint: "N", description: "end after this many changes" },
    ...liveOptions,
  },
  details: [
    "Prints + and a namespace that has publishers, - and one that has none any more, until Ctrl-C\n" +
      "or --timeout. The empty prefix, for all namespaces, is written as ''.",
  ],
  examples: ["namespaces moqt://127.0.0.1:8787/moqt example.2ecom-m1 --timeout 2"],
  async run(values) {
    const { trackNamespace: prefix, trackName } = readNameArgument(values.prefix, parseName);
    if (trackName !== undefined) throw new InputError("a prefix has no Track Name after --");
    const count = values.count === undefined ? Infinity : countOption("--count", values.count);
    let isSubscribed = false;
    await withClient(values, async ({ client, signal }) => {
      const changes = await client.subscribeNamespace({ prefix, signal });
      isSubscribed = true;
      let printed = 0;
      for await (const { type, trackNamespace } of changes) {
        const namespace = formatName(trackNamespace);
        const line = values.json
          ? JSON.stringify({ type, namespace })
          : `${type === "NAMESPACE" ? "+" : "-"} ${namespace}`;
        await writeOut(utf8(`${line}\n`));
        printed++;
        if (printed >= count) break;
      }
    });
    return isSubscribed ? exitStatus.success : exitStatus.invalidInput;
  },
});

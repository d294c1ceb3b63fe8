import { toHex, utf8 } from "../../bytes.ts";
import type { ReceivedObject } from "../../client/mod.ts";
import { parseName } from "../../moqt/mod.ts";
import { command } from "../command.ts";
import { exitStatus } from "../errors.ts";
import { inOrder } from "../in-order.ts";
import { liveOptions, uriArgument, withClient } from "../live.ts";
import { readNameArgument } from "../name-argument.ts";
import { countOption, secondsOption } from "../option-values.ts";
import { printable, tell, writeOut } from "../terminal.ts";

/** `yard sub`: subscribe to a track, wherever the service sends us. */
export const sub = command({
  name: "sub",
  summary: "subscribe to a track and print its objects",
  args: {
    uri: uriArgument,
    namespace: { type: "positional", description: "its Track Namespace, in MOQT text form" },
    name: { type: "positional", description: "its Track Name, in MOQT text form" },
    json: { type: "boolean", description: "print a line of JSON for each object" },
    count: { type: "string", valueHint: "N", description: "end after this many objects" },
    unordered: { type: "boolean", description: "print objects as they arrive, in any order" },
    wait: {
      type: "string",
      valueHint: "SECONDS",
      default: "20",
      description: "let the relay wait this long for a publisher to appear",
    },
    ...liveOptions,
  },
  details: [
    "Payloads go to standard output as they are, what happens on the way to standard error.\n" +
      "Objects are printed in the order of their groups and, within those, of their IDs. One that\n" +
      "is missing is waited for half a second, or until 16 MiB wait behind it; one that comes after\n" +
      "all is left out, which is told in the end. --unordered waits for nothing.\n" +
      "Follows redirects, and comes back to the service when a relay drains or is lost. On this\n" +
      "machine, the certificate for development of npm start is accepted.",
  ],
  examples: [
    "sub moqt://127.0.0.1:8787/moqt example.2ecom-m1-alice chat",
    "sub https://127.0.0.1:8787/moqt example.2ecom-m1-alice chat --json --count 1",
  ],
  async run(values) {
    const track = readNameArgument(`${values.namespace}--${values.name}`, parseName);
    const { trackNamespace, trackName = new Uint8Array(0) } = track;
    const count = values.count === undefined ? undefined : countOption("--count", values.count);
    const rendezvousTimeout = secondsOption("--wait", values.wait);
    let isSubscribed = false;
    const end = await withClient(values, async ({ client, signal }) => {
      const options = { trackNamespace, trackName, rendezvousTimeout, signal };
      const subscription = await client.subscribe(options);
      isSubscribed = true;
      const objects = values.unordered ? subscription : inOrder(subscription);
      const printed = await printObjects(objects, values.json, count);
      if (printed === count) return;
      const { status, reason, error } = await subscription.ended;
      if (error !== undefined) throw error;
      if (!signal.aborted) tell(endLine(status, reason));
    });
    const isShort = end === "time-up" && (!isSubscribed || count !== undefined);
    if (isShort) tell("the time is up");
    return isShort ? exitStatus.invalidInput : exitStatus.success;
  },
});

/** @returns how many were printed */
async function printObjects(
  objects: AsyncIterable<ReceivedObject>,
  json: boolean,
  count: number | undefined,
): Promise<number> {
  let printed = 0;
  for await (const object of objects) {
    await writeOut(json ? utf8(`${JSON.stringify(objectToJson(object))}\n`) : object.payload);
    printed++;
    if (printed === count) break;
  }
  return printed;
}

function objectToJson(object: ReceivedObject) {
  const { groupId, subgroupId, objectId, status, publisherPriority, properties, payload } = object;
  return {
    group: integer(groupId),
    ...(subgroupId === undefined ? { datagram: true } : { subgroup: integer(subgroupId) }),
    object: integer(objectId),
    ...(status === "NORMAL" ? {} : { status }),
    ...(publisherPriority === undefined ? {} : { priority: publisherPriority }),
    ...(properties === undefined ? {} : { properties: { hex: toHex(properties) } }),
    payload: text(payload) ?? { hex: toHex(payload) },
  };
}

/** Integers beyond 2^53-1 as text, as `yard decode` writes them. */
function integer(value: bigint): number | string {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString();
}

function text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function endLine(status: string, reason: string): string {
  return `the subscription has ended: ${status}${reason === "" ? "" : `, ${printable(reason)}`}`;
}

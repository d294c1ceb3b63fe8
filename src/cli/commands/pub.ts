import { createReadStream } from "node:fs";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Client, GroupWriter, LocalTrack, PublishOptions } from "../../client/mod.ts";
import { parseName } from "../../moqt/mod.ts";
import { command } from "../command.ts";
import { exitStatus } from "../errors.ts";
import { expectReadable, sourceName, unreadable } from "../input.ts";
import { liveOptions, uriArgument, withClient } from "../live.ts";
import { readNameArgument } from "../name-argument.ts";
import { countOption } from "../option-values.ts";
import { chunks, lines } from "../pieces.ts";
import { tell } from "../terminal.ts";

/** `yard pub`: publish a track, at the relay that the service chooses. */
export const pub = command({
  name: "pub",
  summary: "publish a file or standard input as a track",
  args: {
    uri: uriArgument,
    namespace: { type: "positional", description: "its Track Namespace, in MOQT text form" },
    name: { type: "positional", description: "its Track Name, in MOQT text form" },
    file: { type: "positional", description: "what to publish, - for standard input" },
    chunk: {
      type: "string",
      valueHint: "BYTES",
      description: "publish pieces of this size; by default each line with its newline",
    },
    group: {
      type: "string",
      valueHint: "N",
      default: "1",
      description: "put this many objects into each group",
    },
    interval: {
      type: "string",
      valueHint: "MS",
      default: "0",
      description: "wait this long between groups",
    },
    count: { type: "string", valueHint: "N", description: "end after this many objects" },
    announce: {
      type: "boolean",
      description:
        "announce the namespace (PUBLISH_NAMESPACE) and wait for a subscriber, instead of PUBLISH",
    },
    ...liveOptions,
  },
  details: [
    "Group IDs start with the time of day in milliseconds, so that a publisher which starts again\n" +
      "goes on after what it published before. A load balancer cannot redirect PUBLISH in draft 18:\n" +
      "use --announce there.",
  ],
  examples: [
    "pub moqt://127.0.0.1:8787/moqt example.2ecom-m1-alice chat -",
    "pub moqt://127.0.0.1:8787/moqt example.2ecom-m1-alice video film.mp4 --chunk 1200 --group 30 --interval 40",
  ],
  async run(values) {
    const track = readNameArgument(`${values.namespace}--${values.name}`, parseName);
    const { trackNamespace, trackName = new Uint8Array(0) } = track;
    const settings: Settings = {
      groupSize: countOption("--group", values.group),
      interval: countOption("--interval", values.interval, 0),
      count: values.count === undefined ? Infinity : countOption("--count", values.count),
    };
    const size = values.chunk === undefined ? undefined : countOption("--chunk", values.chunk);
    if (values.file !== "-") await expectReadable(values.file);
    let isWhole = true;
    const end = await withClient(values, async ({ client, signal }) => {
      const options = { trackNamespace, trackName, firstGroup: BigInt(Date.now()), signal };
      const published = values.announce
        ? await announce(client, options)
        : await client.publish(options);
      const input = opened(values.file);
      const stop = () => input.destroy();
      signal.addEventListener("abort", stop);
      try {
        const pieces = size === undefined ? lines(input) : chunks(input, size);
        tell(await publishAll(published, pieces, settings, signal));
        await published.end();
        isWhole = tellLosses(published);
      } catch (error) {
        throw isUnreadable(error) ? unreadable(sourceName(values.file), error) : error;
      } finally {
        signal.removeEventListener("abort", stop);
        stop();
        await published.end();
      }
    });
    if (end === "time-up") tell("the time is up");
    return end === "time-up" || !isWhole ? exitStatus.invalidInput : exitStatus.success;
  },
});

/** @returns whether nothing was lost, as far as a publisher can know */
function tellLosses({ unsent, lost }: LocalTrack): boolean {
  if (unsent > 0) tell(`${amount(unsent, "object")} went to nobody`);
  if (lost > 0) tell("a connection was lost: what was on its way may not have arrived");
  return unsent === 0 && lost === 0;
}

/** Whether the system would not let us read the input. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

interface Settings {
  /** Objects in each group. */
  readonly groupSize: number;
  /** Milliseconds between groups. */
  readonly interval: number;
  /** Objects at most. */
  readonly count: number;
}

async function announce(
  client: Client,
  options: PublishOptions & { readonly signal: AbortSignal },
): Promise<LocalTrack> {
  const track = client.track(options);
  await client.publishNamespace(options);
  tell("waiting for a subscriber");
  await track.wanted(options.signal);
  return track;
}

function opened(file: string) {
  return file === "-" ? process.stdin : createReadStream(file);
}

/** @returns what was published, in words */
async function publishAll(
  track: LocalTrack,
  pieces: AsyncIterable<Uint8Array>,
  { groupSize, interval, count }: Settings,
  signal: AbortSignal,
): Promise<string> {
  let objects = 0;
  let groups = 0;
  let group: GroupWriter | undefined;
  for await (const piece of pieces) {
    if (group === undefined) {
      if (groups > 0 && interval > 0) await pause(interval, undefined, { signal });
      await track.wanted(signal);
      group = track.openGroup();
      groups++;
    }
    await group.write(piece);
    objects++;
    if (objects % groupSize === 0) {
      await group.end();
      group = undefined;
    }
    if (objects >= count || signal.aborted) break;
  }
  await group?.end();
  return `published ${amount(objects, "object")} in ${amount(groups, "group")}`;
}

function amount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/**
 * The state of a deployment as tables to read.
 *
 * @module
 */

import type { InstanceStatus, RelayStatus, Status } from "../agent/http/status.ts";
import { fromHex } from "../bytes.ts";
import { duration, percent, utcTime } from "../page/words.ts";
import { elsewhere } from "./deployment.ts";
import { ridName } from "./rid-argument.ts";
import { alignedLines, titledLines } from "./table.ts";
import { printable, type Style } from "./terminal.ts";

/** Where a status comes from. */
export interface StatusSource {
  /** The agent's address or the home's folder. */
  readonly where: string;
  readonly live: boolean;
}

/**
 * The status as lines: what is in force, alarms, relays, instances.
 *
 * @param width characters of a line of the terminal, where there is one: RIDs and URIs are
 *   shortened so that a relay's line fits where that can be, its reasons aside
 */
export function statusLines(
  status: Status,
  source: StatusSource,
  style: Style,
  width?: number,
): string[] {
  return [
    ...alignedLines(facts(status, source), (text, _, column) =>
      column === 0 ? style.dim(text) : text,
    ),
    ...alarmLines(status, style),
    ...relayLines(status, style, width),
    ...instanceLines(status, style),
  ];
}

function facts({ role, current, measured, routes, relays }: Status, source: StatusSource) {
  const { where, live } = source;
  const rows: [string, string][] = [
    live
      ? ["agent", `${role}, at ${printable(where)}`]
      : ["store", `${where}, read without an agent`],
  ];
  if (current === null)
    return [...rows, ["version", live ? "none yet" : `none yet; ${elsewhere}`]] as [
      string,
      string,
    ][];
  const { version, signedAt, ageSeconds, since, cause } = current;
  const same = since === version ? "" : `, the same since version ${since}`;
  rows.push(
    ["version", `${version} (${cause})${same}`],
    ["signed", `${utcTime(signedAt)}, ${duration(ageSeconds)} ago`],
    ["routes", `${routes.hashed} hashed, ${routes.static} static`],
    ["relays", healthCounts(relays)],
  );
  if (measured !== null && measured.keys > 0) {
    const older = measured.since === since ? "" : ` of version ${measured.since}`;
    rows.push(["shares", `measured with ${measured.keys} keys${older}`]);
  }
  return rows;
}

/** `3: 2 healthy, 1 draining` */
function healthCounts(relays: readonly RelayStatus[]): string {
  const parts = (["healthy", "draining", "unhealthy"] as const).flatMap((health) => {
    const count = relays.filter((relay) => relay.health === health).length;
    return count === 0 ? [] : [`${count} ${health}`];
  });
  return relays.length === 0 ? "none" : `${relays.length}: ${parts.join(", ")}`;
}

function alarmLines({ alarms }: Status, style: Style): string[] {
  if (alarms.length === 0) return [];
  return [
    "",
    ...alarms.map(({ code, message, since }) => {
      const when = since === null ? "" : ` since ${utcTime(since)}`;
      return `${style.red(`ALARM ${code}`)}${when}: ${printable(message)}`;
    }),
  ];
}

/** Characters of a RID and of a URI where no terminal says how many there is room for. */
const LONGEST = { rid: 60, uri: 80 };
/** Fewer would tell nothing apart. */
const SHORTEST = { rid: 16, uri: 24 };

/** How long RIDs and URIs may be, beside what the other columns of `rows` take. */
function roomFor(
  rows: readonly (readonly string[])[],
  width: number | undefined,
  [rid, uri]: readonly [number, number],
): typeof LONGEST {
  if (width === undefined) return LONGEST;
  const widest = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  let room = width;
  for (let column = 0; column <= uri; column++) {
    if (column > 0) room -= 2;
    if (column !== rid && column !== uri) room -= widest(column);
  }
  const ridRoom = Math.min(widest(rid), Math.max(SHORTEST.rid, Math.floor(room / 3)));
  return { rid: ridRoom, uri: Math.max(SHORTEST.uri, room - ridRoom) };
}

/** `text` with its middle left out: names that are long differ at their ends. */
function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = Math.floor((length - 3) / 3);
  return `${text.slice(0, length - 3 - end)}...${text.slice(text.length - end)}`;
}

function relayLines({ relays }: Status, style: Style, width: number | undefined): string[] {
  if (relays.length === 0) return [];
  const titles = ["RELAY", "HEALTH", "WEIGHT", "SHARE", "EXPECTED", "PROBE", "URI", "WHY"];
  const whole = relays.map((relay) => [
    ridName(fromHex(relay.rid) as Uint8Array),
    relay.health,
    weights(relay.weights),
    relay.share === null ? "-" : percent(relay.share),
    relay.expectedShare === null ? "-" : percent(relay.expectedShare),
    probe(relay),
    printable(relay.uri),
    why(relay).join("; "),
  ]);
  const [rid, uri] = [0, titles.indexOf("URI")] as const;
  const room = roomFor([titles, ...whole], width, [rid, uri]);
  const rows = whole.map((row) =>
    row.map((cell, column) => {
      if (column === rid) return shortened(cell, room.rid);
      return column === uri ? shortened(cell, room.uri) : cell;
    }),
  );
  const colours = { healthy: style.green, draining: style.yellow, unhealthy: style.red };
  return [
    "",
    ...titledLines(titles, rows, style.dim, (text, row, column) => {
      const { health } = relays[row] as RelayStatus;
      return column === 1 ? colours[health](text) : text;
    }),
  ];
}

/** `1`, `1,4`, or the least and the most of many. */
function weights(values: readonly number[]): string {
  if (values.length === 0) return "-";
  return values.length <= 3 ? values.join() : `${values[0]}..${values.at(-1)}`;
}

function probe({ probe }: RelayStatus): string {
  if (probe === null) return "-";
  const { verdict, fault, duration: took } = probe;
  if (fault !== undefined) return `${verdict} ${printable(fault)}`;
  return took === undefined ? verdict : `${verdict} ${Math.round(took)} ms`;
}

/** Everything that has a say in a relay's health, beside probes that go well. */
function why({ intent, drained, override, heldByCap, probe, hint, health }: RelayStatus): string[] {
  const reasons: string[] = [];
  if (override !== null) reasons.push(`fixed ${override} by an operator`);
  if (drained) reasons.push("drained by an operator");
  if (intent !== "healthy") reasons.push(`${intent} in the pool`);
  if (heldByCap) reasons.push("fails, kept in by the cap");
  else if (probe?.verdict === "down" && health === "unhealthy") reasons.push("probes fail");
  if (hint) reasons.push(`${hint.state} for ${hint.instances} of the instances`);
  return reasons;
}

function instanceLines({ instances, now }: Status, style: Style): string[] {
  if (instances.length === 0) return [];
  const titles = ["", "INSTANCE", "STATE", "VERSION", "AGE", "REPORTED", "MODE", "SESSIONS"];
  const rows = instances.map((instance) => [
    isSound(instance) ? "" : "!",
    printable(instance.id),
    stateText(instance, now),
    instance.version === null ? "-" : `${instance.version}`,
    instance.ageSeconds === null ? "-" : duration(instance.ageSeconds),
    instance.reportedAt === null ? "-" : `${duration((now - instance.reportedAt) / 1000)} ago`,
    instance.mode ?? "-",
    instance.sessions === null ? "-" : `${instance.sessions}`,
  ]);
  return [
    "",
    ...titledLines(titles, rows, style.dim, (text, row, column) => {
      return column <= 2 && !isSound(instances[row] as InstanceStatus) ? style.yellow(text) : text;
    }),
  ];
}

function isSound({ state, stale }: InstanceStatus): boolean {
  return state === "current" && !stale;
}

/** `behind 2, for 30 s` */
function stateText(instance: InstanceStatus, now: number): string {
  const { state, behind, behindSince, silentSince, stale, refused } = instance;
  const parts: string[] = [state === "behind" ? `behind ${behind}` : state];
  const since = state === "behind" ? behindSince : state === "silent" ? silentSince : null;
  if (since !== null) parts.push(`for ${duration((now - since) / 1000)}`);
  if (stale) parts.push("stale");
  if (refused !== null) parts.push(`report refused: ${printable(refused)}`);
  return parts.join(", ");
}

import { fromHex } from "../bytes.ts";
import { snapshotLimits } from "../snapshot/mod.ts";
import { AgentError } from "./errors.ts";

/**
 * An action for one version: `newVersion` has to be the one after the current, so that an action
 * counts once and never again (LB-SEC-7).
 */
export type OperatorAction = {
  readonly newVersion: number;
  /** Why, in the operator's words; kept in the history. At most 500 characters. */
  readonly reason: string;
} & OperatorRequest;

/** What an action asks for, without its version and reason. RIDs are lower-case hexadecimal. */
export type OperatorRequest =
  /** `digest`: SHA-256 of `encodeSnapshot` of the pool's snapshot with `newVersion`, in hex. */
  | { readonly type: "publish"; readonly digest: string }
  /** `digest`: that of the verified snapshot of `oldVersion`, in hex (LB-ROT-4). */
  | { readonly type: "rollback"; readonly oldVersion: number; readonly digest: string }
  | { readonly type: "drain" | "undrain"; readonly rid: string }
  /** `prefix`: the fields of one hashed route in hex; absent: every one that names the relay. */
  | {
      readonly type: "weight";
      readonly rid: string;
      readonly weight: number;
      readonly prefix?: readonly string[];
    }
  /** `auto` ends an override, so that probes and intent count again. */
  | {
      readonly type: "health";
      readonly rid: string;
      readonly health: "healthy" | "unhealthy" | "auto";
    };

export type ActionType = OperatorAction["type"];

/** Characters of a reason, at most. */
const LONGEST_REASON = 500;

type Check = (value: unknown) => boolean;

const isVersion: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isDigest: Check = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isHex: Check = (value) =>
  typeof value === "string" && value === value.toLowerCase() && fromHex(value) !== undefined;
const isReason: Check = (value) =>
  typeof value === "string" && value.isWellFormed() && value.length <= LONGEST_REASON;
const isPrefix: Check = (value) =>
  value === undefined ||
  (Array.isArray(value) && value.length <= snapshotLimits.prefixFields && value.every(isHex));
const isWeight: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= snapshotLimits.weight;
const isHealth: Check = (value) => ["healthy", "unhealthy", "auto"].includes(value as string);

/** The members of each type of action, beside `type`, `newVersion` and `reason`. */
const shapes: Readonly<Record<OperatorAction["type"], Readonly<Record<string, Check>>>> = {
  publish: { digest: isDigest },
  rollback: { oldVersion: isVersion, digest: isDigest },
  drain: { rid: isHex },
  undrain: { rid: isHex },
  weight: { rid: isHex, weight: isWeight, prefix: isPrefix },
  health: { rid: isHex, health: isHealth },
};

/** `value` where it names a type of action. */
export function asActionType(value: unknown): ActionType | undefined {
  return typeof value === "string" && Object.hasOwn(shapes, value)
    ? (value as ActionType)
    : undefined;
}

/**
 * `value` as an action. Its members are closed: one that is skipped would be a wish that is not
 * kept.
 *
 * @throws {AgentError} `INVALID_ACTION`, naming every member that is wrong
 */
export function readAction(value: unknown): OperatorAction {
  if (typeof value !== "object" || value === null) throw invalid("expected a map");
  const { type } = value as { type?: unknown };
  const known = asActionType(type);
  if (known === undefined) {
    throw invalid(`type has to be one of ${Object.keys(shapes).join(", ")}`);
  }
  const shape: Readonly<Record<string, Check>> = {
    type: () => true,
    newVersion: isVersion,
    reason: isReason,
    ...shapes[type as OperatorAction["type"]],
  };
  const members = value as Readonly<Record<string, unknown>>;
  const wrong = Object.keys(shape).filter((name) => !shape[name]?.(members[name]));
  const unknown = Object.keys(members).some((name) => !Object.hasOwn(shape, name));
  if (wrong.length > 0) throw invalid(`wrong or missing in ${type}: ${wrong.join(", ")}`);
  if (unknown) throw invalid(`${type} has only ${Object.keys(shape).join(", ")}`);
  return members as unknown as OperatorAction;
}

function invalid(reason: string): AgentError {
  return new AgentError("INVALID_ACTION", `not an action: ${reason}`);
}

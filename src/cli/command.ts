/**
 * One `yard` command: its words, its options, its examples. citty parses and runs it; what citty
 * lets pass (unknown options, missing values, too many arguments) is refused here first.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { type ArgDef, type ArgsDef, type CommandDef, defineCommand } from "citty";
import { nearest } from "../nearest.ts";
import { UsageError } from "./errors.ts";

/** The value of each argument and option, by its name. */
export type Values<T extends ArgsDef> = {
  readonly [Name in keyof T]: T[Name] extends { type: "boolean" }
    ? boolean
    : T[Name] extends { default: string } | { type: "positional"; required?: true }
      ? string
      : string | undefined;
};

/** What makes a command. */
export interface CommandSpec<T extends ArgsDef> {
  readonly name: string;
  /** One line, as a sentence without a full stop. */
  readonly summary: string;
  /** Positional arguments first, in their order, then options. */
  readonly args: T;
  /** Whether the last positional argument may be repeated. */
  readonly repeats?: boolean;
  /** Paragraphs shown below the options. */
  readonly details?: readonly string[];
  /** Command lines that work as they are, without the leading `yard`. */
  readonly examples: readonly string[];
  /**
   * @param values by name
   * @param rest every positional argument, in order
   * @returns the exit status; 0 where it answers nothing
   */
  run(values: Values<T>, rest: readonly string[]): Promise<number | undefined>;
}

export interface Command extends Omit<CommandSpec<ArgsDef>, "run"> {
  readonly definition: CommandDef;
}

/** Makes a command from its description. */
export function command<const T extends ArgsDef>(spec: CommandSpec<T>): Command {
  const definition = defineCommand<ArgsDef>({
    meta: { name: spec.name, description: spec.summary },
    args: spec.args,
    run: ({ args }) => {
      const values: Record<string, unknown> = { ...args };
      for (const [name, argument] of Object.entries(spec.args)) {
        if (argument.type === "boolean") values[name] = args[name] === true;
      }
      return spec.run(values as Values<T>, args._);
    },
  });
  const { run, ...rest } = spec;
  return { ...rest, definition };
}

/** The positional arguments of a command, in order. */
export function positionals(command: Command): [name: string, argument: ArgDef][] {
  return Object.entries(command.args).filter(([, argument]) => argument.type === "positional");
}

/** The options of a command, in order. */
export function options(command: Command): [name: string, argument: ArgDef][] {
  return Object.entries(command.args).filter(([, argument]) => argument.type !== "positional");
}

/**
 * Whether `rawArgs` can be run.
 *
 * @param rawArgs what follows the name of the command
 * @throws {UsageError} an unknown or repeated option, an option without its value, a flag with a
 *   value, a missing or surplus argument
 */
export function checkArguments(command: Command, rawArgs: readonly string[]): void {
  const known = Object.fromEntries(
    options(command).map(([name, { type }]) => [
      name,
      { type: type === "boolean" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...rawArgs],
    options: known,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const seen = new Set<string>();
  let count = 0;
  for (const token of tokens) {
    if (token.kind === "positional") count++;
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const type = Object.hasOwn(known, name) && rawName === `--${name}` ? known[name]?.type : "none";
    if (type === "none") throw unknownOption(rawName, Object.keys(known));
    if (seen.has(name)) throw new UsageError(`option ${rawName} is given twice`);
    seen.add(name);
    if (type === "boolean" && value !== undefined) {
      throw new UsageError(`option ${rawName} takes no value`);
    }
    if (type === "string") checkValue(rawName, value, inlineValue === true);
  }
  checkCount(command, count);
}

function unknownOption(rawName: string, known: readonly string[]): UsageError {
  const close = nearest(
    rawName,
    [...known, "help"].map((name) => `--${name}`),
  );
  return new UsageError(
    `unknown option ${rawName}${close === undefined ? "" : `; did you mean ${close}?`}`,
  );
}

function checkValue(rawName: string, value: string | undefined, inline: boolean): void {
  if (value === undefined || value === "") throw new UsageError(`option ${rawName} needs a value`);
  // "-" alone is standard input, "-1" a number: anything else is most likely the next option.
  if (!inline && /^--|^-[a-zA-Z]/.test(value)) {
    throw new UsageError(
      `option ${rawName} needs a value; write ${rawName}=${value} if that is the value`,
    );
  }
}

function checkCount(command: Command, count: number): void {
  const expected = positionals(command);
  const missing = expected[count];
  if (missing !== undefined && missing[1].required !== false) {
    throw new UsageError(`missing argument ${missing[0].toUpperCase()}`);
  }
  if (count > expected.length && command.repeats !== true) {
    const names = expected.map(([name]) => name.toUpperCase()).join(" ");
    throw new UsageError(
      expected.length === 0
        ? "takes no arguments, only options"
        : `too many arguments: expected ${names}, got ${count}`,
    );
  }
}

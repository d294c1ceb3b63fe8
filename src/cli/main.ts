/**
 * Runs one command line. The exit status is exact: 0 done, 1 the input is invalid or a service
 * refuses, 2 the command line is wrong.
 *
 * @module
 */

import { runCommand } from "citty";
import manifest from "../../package.json" with { type: "json" };
import { YardmasterError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { type Command, checkArguments } from "./command.ts";
import { commands } from "./commands.ts";
import { exitStatus, InputError, UsageError } from "./errors.ts";
import { unreadable } from "./input.ts";
import { messageStyle, print, resultStyle, tell } from "./terminal.ts";
import { commandHelp, overview, usageLine } from "./usage.ts";

/**
 * Runs `yard` with these arguments.
 *
 * @param args what follows the name of the program
 * @returns the exit status
 */
export async function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args;
  if (first === "--version") {
    print(`yard ${manifest.version}`);
    return exitStatus.success;
  }
  if (first === "help") return main([...rest.slice(0, 1), "--help"]);
  if (first === "--help" || first === "-h") {
    print(helpOfYard());
    return exitStatus.success;
  }
  const entry = first !== undefined && Object.hasOwn(commands, first) ? commands[first] : undefined;
  if (entry === undefined) return refuse(first);
  return runOne(await entry.load(), rest);
}

async function runOne(command: Command, rawArgs: readonly string[]): Promise<number> {
  if (asksForHelp(rawArgs)) {
    print(commandHelp(command, resultStyle()));
    return exitStatus.success;
  }
  try {
    checkArguments(command, rawArgs);
    const { result } = await runCommand(command.definition, { rawArgs: [...rawArgs] });
    return typeof result === "number" ? result : exitStatus.success;
  } catch (error) {
    return report(command, error);
  }
}

function asksForHelp(rawArgs: readonly string[]): boolean {
  const end = rawArgs.indexOf("--");
  const own = end === -1 ? rawArgs : rawArgs.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}

/** Answers a command line that names no command, or one that does not exist. */
function refuse(name: string | undefined): number {
  if (name === undefined) {
    tell(helpOfYard());
    return exitStatus.usage;
  }
  const style = messageStyle();
  const what = name.startsWith("-") ? "unknown option" : "unknown command";
  const close = nearest(name, [...Object.keys(commands), "--help", "--version"]);
  tell(
    `${style.red("yard:")} ${what} ${name}${close === undefined ? "" : `; did you mean ${close}?`}`,
  );
  tell("usage: yard COMMAND [ARGUMENTS] [OPTIONS]");
  tell(`commands: ${Object.keys(commands).join(", ")}; see yard --help`);
  return exitStatus.usage;
}

/** Tells an error in the words it carries, and answers the exit status that belongs to it. */
function report(command: Command, error: unknown): number {
  const style = messageStyle();
  if (error instanceof UsageError) {
    tell(`${style.red(`yard ${command.name}:`)} ${error.message}`);
    tell(`usage: ${usageLine(command)}`);
    tell(`see yard ${command.name} --help`);
    return exitStatus.usage;
  }
  if (error instanceof InputError) {
    tell(error.message);
  } else if (isSystemError(error)) {
    tell(unreadable(error.path, error).message);
  } else {
    tell(`${style.red(`yard ${command.name}:`)} ${faultText(error)}`);
  }
  return exitStatus.invalidInput;
}

/** A file or directory that could not be used, beyond what a command expects. */
function isSystemError(error: unknown): error is Error & { readonly path: string } {
  const { code, path } = (error ?? {}) as { code?: unknown; path?: unknown };
  return error instanceof Error && typeof code === "string" && typeof path === "string";
}

/** An error that is not one of ours is a fault of this program: nobody could mend it untraced. */
function faultText(error: unknown): string {
  if (error instanceof YardmasterError) return `${error.message} (${error.code})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function helpOfYard(): string {
  const summaries = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return overview(manifest.version, summaries, resultStyle());
}

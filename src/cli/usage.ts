/**
 * Help texts, made from the description of a command.
 *
 * @module
 */

import type { ArgDef } from "citty";
import { type Command, options, positionals } from "./command.ts";
import type { Style } from "./terminal.ts";

/** `yard route NAMESPACE [--snapshot FILE] [--json]` */
export function usageLine(command: Command): string {
  const words = positionals(command).map(([name, argument]) => {
    const word = command.repeats ? `${name.toUpperCase()}...` : name.toUpperCase();
    return argument.required === false ? `[${word}]` : word;
  });
  const flags = options(command).map((option) => `[${optionWord(option)}]`);
  return ["yard", command.name, ...words, ...flags].join(" ");
}

/** The whole help of one command. */
export function commandHelp(command: Command, style: Style): string {
  const rows = (entries: [string, ArgDef][], word: (entry: [string, ArgDef]) => string) =>
    entries.map((entry): [string, string] => [word(entry), description(entry[1])]);
  const helpRow: [string, string] = ["-h, --help", "show this help"];
  const sections = [
    `${style.bold(`yard ${command.name}`)}: ${command.summary}`,
    `${style.bold("Usage:")} ${usageLine(command)}`,
  ];
  const args = rows(positionals(command), ([name]) => name.toUpperCase());
  if (args.length > 0) sections.push(section("Arguments:", args, style));
  sections.push(
    section("Options:", [...rows(options(command), optionWord), helpRow], style),
    ...(command.details ?? []),
    `${style.bold(command.examples.length > 1 ? "Examples:" : "Example:")}\n${command.examples
      .map((example) => `  yard ${example}`)
      .join("\n")}`,
  );
  return sections.join("\n\n");
}

/** The help of `yard` itself. */
export function overview(
  version: string,
  summaries: readonly (readonly [name: string, summary: string])[],
  style: Style,
): string {
  return [
    `${style.bold("yard")} ${version}: the command line of Yardmaster, a load balancer for Media over QUIC`,
    `${style.bold("Usage:")} yard COMMAND [ARGUMENTS] [OPTIONS]\n       (npm run -s yard -- COMMAND ..., or: deno task yard COMMAND ...)`,
    section("Commands:", summaries, style),
    section(
      "Options:",
      [
        ["-h, --help", "show this help; after a command, the help of that command"],
        ["--version", "show the version"],
      ],
      style,
    ),
    `${style.bold("Example:")}\n  yard route example.2ecom-m1`,
    "Exit status: 0 done, 1 the input is invalid or a service refuses, 2 the command line is wrong.",
  ].join("\n\n");
}

function optionWord([name, argument]: [string, ArgDef]): string {
  if (argument.type === "boolean") return `--${name}`;
  return `--${name} ${argument.valueHint ?? name.toUpperCase()}`;
}

function description(argument: ArgDef): string {
  const text = argument.description ?? "";
  return typeof argument.default === "string" ? `${text} (default ${argument.default})` : text;
}

function section(
  title: string,
  rows: readonly (readonly [string, string])[],
  style: Style,
): string {
  const width = Math.max(...rows.map(([word]) => word.length));
  const lines = rows.map(([word, text]) => `  ${word.padEnd(width)}  ${text}`);
  return [style.bold(title), ...lines].join("\n");
}

// plantstore man: prints the man page, in the macros of man(7).

import { Command } from "commander";
import { version } from "../../package.json";
import { type CommandSpec, commandTree, flatten, type OptionSpec } from "./command-tree.ts";
import { printLines } from "./output.ts";

export function manCommand(): Command {
  const command = new Command("man").description(
    'print the man page; read it with "plantstore man | man -l -"',
  );
  return command.action(async () => {
    const { parent } = command;
    if (parent === null) throw new Error("man is not a command of a program");
    await printLines(manPage(commandTree(parent)));
  });
}

function manPage(program: CommandSpec): string[] {
  const commands = flatten(program).filter(({ subcommands }) => subcommands.length === 0);
  return [
    `.TH PLANTSTORE 1 "" "plantstore ${version}" "User Commands"`,
    ".SH NAME",
    `plantstore \\- ${escapeRoff("a durable server for the Plant Store contract")}`,
    ".SH SYNOPSIS",
    ".B plantstore",
    "\\fIcommand\\fR [\\fIoptions\\fR]",
    ".SH DESCRIPTION",
    escapeRoff(program.description),
    ".PP",
    escapeRoff(
      "Results go to standard output, everything else to standard error. Each command takes its settings from these sources, highest precedence first: a flag; an environment variable, or a variable with the suffix _FILE that names a file with the value; the file that --config names; the default.",
    ),
    ".SH COMMANDS",
    ...commands.flatMap(commandSection),
    ".SH EXIT STATUS",
    ...item("0", "Success."),
    ...item("1", "The command failed, or conformance found a rule that does not hold."),
    ...item("2", "The command was called incorrectly, or a setting is invalid."),
    ...item("3", "An import rejected some records."),
    ".SH ENVIRONMENT",
    ...item("PLANTSTORE_*", "The settings, as listed with their flags above."),
    ...item("NO_COLOR", "If it is set and not empty, no colours are written to a terminal."),
    ".SH FILES",
    ...item("plantstore.db", "The store, unless --database names another."),
    ".SH EXAMPLES",
    ".nf",
    "plantstore serve",
    escapeRoff("plantstore token create --name ci --expires 90d"),
    "plantstore export > plants.ndjson",
    ".fi",
  ];
}

function commandSection({ path, usage, description, arguments: positional, options }: CommandSpec): string[] {
  const groups = Map.groupBy(options, ({ group }) => group);
  return [
    `.SS plantstore ${escapeRoff(`${path} ${usage}`)}`,
    escapeRoff(`${sentence(description)}`),
    ...positional.flatMap((each) => item(each.name, each.description)),
    ...[...groups].flatMap(([heading, members]) => [
      ...(groups.size === 1 ? [] : [".PP", `.B ${escapeRoff(heading)}`]),
      ...members.flatMap(({ flags, description: text }: OptionSpec) => item(flags, text)),
    ]),
  ];
}

function item(term: string, text: string): string[] {
  return [".TP", `.B ${escapeRoff(term)}`, escapeRoff(text)];
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** Typed hyphens stay hyphens, and a line must not start with a control character. */
function escapeRoff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^[.']/, "\\&$&")
    .replaceAll('"', "\\(dq");
}

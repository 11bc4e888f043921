// plantstore man: prints the man page, in the macros of man(7).

import { Command } from "commander";
import { version } from "../../package.json";
import { printLines } from "./output.ts";

export function manCommand(): Command {
  const command = new Command("man").description(
    'print the man page; read it with "plantstore man | man -l -"',
  );
  return command.action(async () => {
    const { parent } = command;
    if (parent === null) throw new Error("man is not a command of a program");
    await printLines(manPage(parent));
  });
}

function manPage(program: Command): string[] {
  return [
    `.TH PLANTSTORE 1 "" "plantstore ${version}" "User Commands"`,
    ".SH NAME",
    `plantstore \\- ${escapeRoff("a durable server for the Plant Store contract")}`,
    ".SH SYNOPSIS",
    ".B plantstore",
    "\\fIcommand\\fR [\\fIoptions\\fR]",
    ".SH DESCRIPTION",
    escapeRoff(program.description()),
    ".PP",
    escapeRoff(
      "Results go to standard output, everything else to standard error. Each command takes its settings from these sources, highest precedence first: a flag; an environment variable, or a variable with the suffix _FILE that names a file with the value; the file that --config names; the default.",
    ),
    ".SH COMMANDS",
    ...commandSections(program),
    ".SH EXIT STATUS",
    ...item("0", "Success."),
    ...item("1", "The command failed, or conformance found a rule that does not hold."),
    ...item("2", "The command was called incorrectly, or a setting is invalid."),
    ...item(
      "3",
      "An import rejected some records, an undo left some plants as they are, or conformance could not check the server.",
    ),
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

/** A section for each command below a command that has none itself. */
function commandSections(command: Command, path = ""): string[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((each) => each.name() !== "help");
  if (commands.length > 0) return commands.flatMap((each) => commandSections(each, `${path}${each.name()} `));
  const groups = Map.groupBy(help.visibleOptions(command), (option) => option.helpGroupHeading);
  return [
    `.SS plantstore ${escapeRoff(path + command.usage())}`,
    escapeRoff(sentence(command.description())),
    ...command.registeredArguments.flatMap((each) => item(each.name(), each.description)),
    ...[...groups].flatMap(([heading = "Options:", options]) => [
      ...(groups.size === 1 ? [] : [".PP", `.B ${escapeRoff(heading)}`]),
      ...options.flatMap(({ flags, description }) => item(flags, description)),
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

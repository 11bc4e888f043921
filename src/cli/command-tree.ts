// The commands with their options, as --help has them: for completions and the man page.

import type { Argument, Command, Option } from "commander";

/** The values that an option or argument accepts. */
interface ValueSpec {
  /** As in the help, such as `file`. */
  readonly name: string;
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

export interface OptionSpec {
  /** Such as `-h, --help` or `--port <number>`. */
  readonly flags: string;
  readonly short: string | undefined;
  readonly long: string;
  readonly description: string;
  /** The heading in the help. */
  readonly group: string;
  /** Undefined for a switch. */
  readonly value: ValueSpec | undefined;
}

export interface CommandSpec {
  /** The words after the program's name: `token create`; "" for the program itself. */
  readonly path: string;
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly (ValueSpec & { readonly description: string })[];
  readonly options: readonly OptionSpec[];
  readonly subcommands: readonly CommandSpec[];
}

/** The program and everything below it, without the command help, which --help replaces. */
export function commandTree(command: Command, path = ""): CommandSpec {
  const help = command.createHelp();
  return {
    path,
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map((argument) => ({
      ...valueSpec(argument.name(), argument),
      description: argument.description,
    })),
    options: help.visibleOptions(command).map(toOptionSpec),
    subcommands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== "help")
      .map((each) => commandTree(each, `${path} ${each.name()}`.trim())),
  };
}

/** A command and all below it, in the order of the help. */
export function flatten(command: CommandSpec): CommandSpec[] {
  return [command, ...command.subcommands.flatMap(flatten)];
}

function toOptionSpec(option: Option): OptionSpec {
  const [, name] = /[<[](.+)[>\]]$/.exec(option.flags) ?? [];
  return {
    flags: option.flags,
    short: option.short,
    long: option.long ?? "",
    description: option.description,
    group: option.helpGroupHeading ?? "Options:",
    value: name === undefined ? undefined : valueSpec(name, option),
  };
}

/** The choices of commander, or those that the name lists: `on|off`. */
function valueSpec(name: string, { argChoices }: Option | Argument): ValueSpec {
  const choices = argChoices ?? (name.includes("|") ? name.split("|") : []);
  return { name, choices, isFile: name === "file" };
}

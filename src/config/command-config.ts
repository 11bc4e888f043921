// The settings of a command: given to it as flags and variables, and read back as values.

import { type Command, Option } from "commander";
import type { Setting } from "./setting.ts";
import { type SettingName, type SettingValue, settings } from "./settings.ts";

/** Gives a command the settings that it uses, as flags and as environment variables; `required` ones must be given. */
export function withSettings(
  command: Command,
  names: readonly SettingName[],
  required: readonly SettingName[] = [],
): Command {
  for (const name of names) {
    const { flag, environment, fallback, meaning, read }: Setting<unknown> = settings[name];
    const option = new Option(flag, meaning)
      .env(environment)
      .default(fallback)
      .makeOptionMandatory(required.includes(name));
    command.addOption(flag.includes("<") ? option.argParser(read) : option);
  }
  return command;
}

/** The value of a setting that a command was given by withSettings. */
export function settingOf<Name extends SettingName>(command: Command, name: Name): SettingValue<Name> {
  const { flag, environment, read } = settings[name];
  const option = command.options.find(({ long }) => long === flag.split(" ")[0]);
  if (option === undefined) throw new Error(`The command ${command.name()} does not use the setting ${name}`);
  const attribute = option.attributeName();
  // Commander takes any value of such a variable for a yes.
  const isSwitchByVariable = !flag.includes("<") && command.getOptionValueSource(attribute) === "env";
  if (isSwitchByVariable) return read(process.env[environment] ?? "") as SettingValue<Name>;
  return command.getOptionValue(attribute);
}

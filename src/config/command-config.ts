// The settings of a command: given to it as flags, variables and a configuration file, and read back as values.

import { type Command, Option } from "commander";
import { OperatorError } from "../operator-error.ts";
import { type Configuration, type Configured, configure } from "./configuration.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, type SettingValue, settings } from "./settings.ts";

const configurations = new WeakMap<Command, Configuration>();

/**
 * Gives a command the settings that it uses, and --config; `required` ones must be given. They are judged before the
 * command's action runs.
 */
export function withSettings(
  command: Command,
  names: readonly SettingName[],
  required: readonly SettingName[] = [],
): Command {
  const options = new Map([...names, "config" as const].map((name) => [name, optionOf(settings[name])]));
  for (const option of options.values()) command.addOption(option);
  return command.hook("preAction", () => {
    const configuration = configure([...options.keys()], flagsOf(command, options), process.env);
    for (const name of required) {
      if (configuration.get(name)?.source === "default") throw missing(settings[name]);
    }
    configurations.set(command, configuration);
  });
}

/** The value of a setting that a command was given by withSettings. */
export function settingOf<Name extends SettingName>(command: Command, name: Name): SettingValue<Name> {
  return configuredOf(command, name).value as SettingValue<Name>;
}

/** The same with its source. */
export function configuredOf(command: Command, name: SettingName): Configured {
  const configured = configurations.get(command)?.get(name);
  if (configured === undefined)
    throw new Error(`The command ${command.name()} does not use the setting ${name}`);
  return configured;
}

/** Commander reads the flag, and shows the variable and the default in the help; what holds is for configure to say. */
function optionOf({ flag, environment, default: fallback, description: meaning }: Setting<unknown>): Option {
  return new Option(flag, meaning).env(environment).default(fallback);
}

/** The texts of the flags that were given; that of a switch is "on". */
function flagsOf(command: Command, options: ReadonlyMap<SettingName, Option>): Map<SettingName, string> {
  const given = [...options].filter(
    ([, option]) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  return new Map(
    given.map(([name, option]) => {
      const value: string | true = command.getOptionValue(option.attributeName());
      return [name, value === true ? "on" : value];
    }),
  );
}

function missing({ flag, environment }: Setting<unknown>): OperatorError {
  return new OperatorError(`${flag.split(" ")[0]} is missing; give it, or set ${environment}`, 2);
}

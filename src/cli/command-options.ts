// Declares settings as the options of a commander command.

import { type Command, Option } from "commander";
import { OperatorError } from "../base/operator-error.ts";
import { type Config, resolveConfig, type SettingTexts } from "../process/config/resolve.ts";
import { flagName, headingOf, type SettingName, settings } from "../process/config/settings.ts";
import { host } from "../process/host.ts";

/**
 * Adds the flags of the settings, and --config, to a command, whose action gets the values.
 *
 * @param defaults the command's own defaults.
 */
export function withSettings<Name extends SettingName, Arguments extends readonly unknown[]>(
  command: Command,
  names: readonly Name[],
  action: (config: Config<Name>, ...positional: Arguments) => Promise<void>,
  defaults: SettingTexts = {},
): Command {
  declareFlags(command, names, defaults);
  return command.action(async () => {
    const config = resolveConfig(names, givenFlags(command, names), host().environment, defaults);
    await action(config, ...(command.processedArgs as unknown as Arguments));
  });
}

/** Declares the flags of the settings: grouped where they are those of the server. */
export function declareFlags(
  command: Command,
  names: readonly SettingName[],
  defaults: SettingTexts = {},
): void {
  const isGrouped = names.includes("host");
  for (const name of ["config", ...names] as const) {
    const { flag, description, environment } = settings[name];
    const text = defaults[name] ?? settings[name].default ?? "";
    const notes = [...(text === "" ? [] : [`default: ${text}`]), `env: ${environment}`];
    // resolveConfig decides the precedence, so commander gets no default and no env.
    const option = new Option(flag, `${description} (${notes.join(", ")})`);
    if (settings[name].repeated !== undefined)
      option.argParser((text, former?: string) => joined(name, text, former));
    const heading = isGrouped ? headingOf(name) : undefined;
    command.addOption(heading === undefined ? option : option.helpGroup(heading));
  }
}

/** The text of a flag that may have been given before. Throws an OperatorError if it must not. */
function joined(name: SettingName, text: string, former: string | undefined): string {
  if (former === undefined) return text;
  if (settings[name].repeated === "joined") return `${former}\n${text}`;
  throw new OperatorError(
    `${flagName(name)} is given twice, and a server has one identity provider; give it once`,
    2,
  );
}

/** The flags that a parsed command line gives. */
export function givenFlags(command: Command, names: readonly SettingName[]): SettingTexts {
  const values: Readonly<Record<string, string | true>> = command.opts();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of ["config", ...names] as const) {
    const value = values[new Option(settings[name].flag).attributeName()];
    if (value !== undefined) flags[name] = value === true ? "on" : value;
  }
  return flags;
}

// What is in force: each setting's value and where it came from.

import { InvalidArgumentError } from "commander";
import { OperatorError } from "../operator-error.ts";
import { readConfigFile } from "./config-file.ts";
import { redactPasswords } from "./redact.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, settings } from "./settings.ts";
import { environmentVariables, type Given, givenBy } from "./variables.ts";

/** The value of a setting, and its source. */
export interface Configured {
  readonly value: unknown;
  /** default, flag, environment, config file, or the variable that names the file with the value. */
  readonly source: string;
}

export type Configuration = ReadonlyMap<SettingName, Configured>;

/**
 * The settings with these names: from a flag, else from the environment, else from the configuration file, else by
 * default. Throws an OperatorError with the name of its source where a value, or a source, is wrong.
 */
export function configure(
  names: readonly SettingName[],
  flags: ReadonlyMap<SettingName, string>,
  environment: NodeJS.ProcessEnv,
): Configuration {
  const variables = environmentVariables(environment);
  const given = (name: SettingName) =>
    givenByFlag(flags, name) ?? givenBy(variables, settings[name].environment);
  const file = given("config");
  const fileVariables = file && readConfigFile(file.text, file.by);
  return new Map(
    names.map((name) => [
      name,
      configured(
        settings[name],
        given(name) ?? (fileVariables && givenBy(fileVariables, settings[name].environment)),
      ),
    ]),
  );
}

function givenByFlag(flags: ReadonlyMap<SettingName, string>, name: SettingName): Given | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  return { text, source: "flag", by: settings[name].flag.split(" ")[0] ?? "", isRepeatable: true };
}

function configured(setting: Setting<unknown>, given: Given | undefined): Configured {
  if (given === undefined) return { value: setting.default, source: "default" };
  const { text, source, by } = given;
  try {
    return { value: setting.parse(text), source };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const fault = setting.secret || !given.isRepeatable ? "cannot be used" : `says ${repeated(text)}`;
    throw new OperatorError(`${by} ${fault}: ${error.message}`, 2);
  }
}

/** What someone gave, in an error: enough to know it again. */
function repeated(text: string): string {
  const lengthMax = 60;
  // Whoever mixes up two settings has the password in the wrong one.
  const shown = redactPasswords(text);
  return JSON.stringify(shown.length > lengthMax ? `${shown.slice(0, lengthMax)}…` : shown);
}

// plantstore config: prints the settings that serve would use, and their sources.

import { Command } from "commander";
import { effectiveSettings, formatValue } from "../../process/config/resolve.ts";
import { serverSettingNames, settings } from "../../process/config/settings.ts";
import { formatTable, printLines } from "../../process/output.ts";
import { withSettings } from "../command-options.ts";

export function configCommand(): Command {
  const command = new Command("config").description(
    "print the settings that serve would use, and the source of each; takes the flags of serve",
  );
  return withSettings(command, [...serverSettingNames, "json"], async (config) => {
    const rows = effectiveSettings(config).filter(({ name }) => name !== settings.json.environment);
    const table = rows.map(({ name, value, source }) => [name, formatValue(value), source]);
    await printLines(
      config.json
        ? rows.map((row) => JSON.stringify(row))
        : formatTable([["SETTING", "VALUE", "SOURCE"], ...table]),
    );
  });
}

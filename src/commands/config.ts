// plantstore config: what the server would run with, and where each value comes from.

import { Command } from "commander";
import { settingOf } from "../config/command-config.ts";
import { configurationOf, withServerSettings } from "../config/server-config.ts";
import { formatTable, printLines } from "../output.ts";

export function configCommand(): Command {
  const command = new Command("config").description(
    "print the settings that serve would run with, and where each comes from; takes the flags of serve",
  );
  return withServerSettings(command, ["json"]).action(async () => {
    const rows = configurationOf(command);
    const table = [
      ["SETTING", "VALUE", "SOURCE"],
      ...rows.map(({ name, value, source }) => [name, cellOf(value), source]),
    ];
    await printLines(
      settingOf(command, "json") ? rows.map((row) => JSON.stringify(row)) : formatTable(table),
    );
  });
}

/** A value as one would write it, and as JSON where that could not be told from none, or would break the table. */
function cellOf(value: unknown): string {
  if (value === null) return "-";
  if (Array.isArray(value)) return value.join(",");
  const text = String(value);
  return text === "" || /\p{Cc}/u.test(text) ? JSON.stringify(text) : text;
}

// plantstore backup FILE: a copy of the store, while the server runs.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { formatCount, printError } from "../output.ts";
import { backUpStore } from "../store/open-store.ts";

export function backupCommand(): Command {
  const command = new Command("backup")
    .description("copy an SQLite store to a file, and check the copy; works while the server runs")
    .argument("<file>", "the file; one that is there is replaced with --force if it is an earlier backup")
    .addHelpText(
      "after",
      '\nFor PostgreSQL use pg_dump or pg_basebackup. "plantstore restore FILE" is the way back.',
    );
  return withSettings(command, ["database", "force", "quiet"]).action(async (file: string) => {
    const { plants } = await backUpStore(settingOf(command, "database"), file, settingOf(command, "force"));
    if (!settingOf(command, "quiet")) printError(`${file} holds ${formatCount(plants)}, checked.`);
  });
}

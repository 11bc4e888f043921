// plantstore restore FILE: a backup becomes the store.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { formatCount, printError } from "../output.ts";
import { restoreStore } from "../store/open-store.ts";

export function restoreCommand(): Command {
  const command = new Command("restore")
    .description("make a backup the store; no server may have the store open")
    .argument("<file>", 'what "plantstore backup" has written')
    .addHelpText(
      "after",
      "\nTokens come back with the plants: a token that was revoked after the backup is in force again, so revoke it again.",
    );
  return withSettings(command, ["database", "force", "quiet"]).action(async (file: string) => {
    const database = settingOf(command, "database");
    const { plants } = await restoreStore(file, database, settingOf(command, "force"));
    if (!settingOf(command, "quiet"))
      printError(`Restored: ${formatCount(plants)}, and the tokens of that time.`);
  });
}

// plantstore restore FILE: replaces the store with a backup.

import { Command } from "commander";
import { onlyCollection } from "../core/contract/contract.ts";
import { readContract } from "../core/contract/description/read-contract.ts";
import { withSettings } from "./config/command-options.ts";
import { formatCount, printError } from "./output.ts";

export function restoreCommand(): Command {
  const command = new Command("restore")
    .description("replace the store with a backup; no server may have the store open")
    .argument("<file>", 'a file that "plantstore backup" has written');
  return withSettings(command, ["database", "force"], async ({ database, force }, file: string) => {
    const { restore } = await import("../operations/backup.ts");
    const { plants, contract } = restore(database, file, force);
    const { words } = onlyCollection(await readContract(contract));
    printError(
      `Restored ${formatCount(plants, words)} and the tokens of the backup; revoke again those that were revoked since.`,
    );
  });
}

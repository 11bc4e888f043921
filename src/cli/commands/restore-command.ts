// plantstore restore FILE: replaces the store with a backup.

import { Command } from "commander";
import { compiler } from "../../openapi/compiler.ts";
import { formatCounts, printError } from "../../process/output.ts";
import { withSettings } from "../command-options.ts";

export function restoreCommand(): Command {
  const command = new Command("restore")
    .description("replace the store with a backup; no server may have the store open")
    .argument("<file>", 'a file that "plantstore backup" has written');
  return withSettings(command, ["database", "force"], async ({ database, force }, file: string) => {
    const { restore } = await import("../../transfer/backup.ts");
    const { plants, contract } = restore(database, file, force);
    const { collections } = await compiler(contract);
    printError(
      `Restored ${formatCounts(collections, plants)} and the tokens of the backup; revoke again those that were revoked since.`,
    );
  });
}

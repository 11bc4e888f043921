// plantstore backup FILE: copies the store to a file while the server runs.

import { Command } from "commander";
import { compiler } from "../../openapi/compiler.ts";
import { formatCounts, printError } from "../../process/output.ts";
import { withSettings } from "../command-options.ts";

export function backupCommand(): Command {
  const command = new Command("backup")
    .description("copy a SQLite store to a file, and verify the copy")
    .argument("<file>", "the backup: a new file")
    .addHelpText(
      "after",
      '\nFor PostgreSQL use pg_dump or pg_basebackup.\n"plantstore restore FILE" restores a backup.',
    );
  return withSettings(command, ["database"], async ({ database }, file: string) => {
    const { backUp } = await import("../../transfer/backup.ts");
    const { plants, contract } = backUp(database, file);
    const { collections } = await compiler(contract);
    printError(`${file}: ${formatCounts(collections, plants)}, verified.`);
  });
}

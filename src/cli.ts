// The command's entry: plantstore <command>. One command, one file in commands/.

import { Command, CommanderError } from "commander";
import packageJson from "../package.json";
import { backupCommand } from "./commands/backup.ts";
import { checkCommand } from "./commands/check.ts";
import { configCommand } from "./commands/config.ts";
import { exportCommand } from "./commands/export.ts";
import { getCommand } from "./commands/get.ts";
import { importCommand } from "./commands/import.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { restoreCommand } from "./commands/restore.ts";
import { serveCommand } from "./commands/serve.ts";
import { statsCommand } from "./commands/stats.ts";
import { tokenCommand } from "./commands/token.ts";
import { withoutPasswords } from "./config/without-passwords.ts";
import { OperatorError } from "./operator-error.ts";
import { tell } from "./operator-output.ts";

const usageExitCode = 2;

const program = new Command("plantstore")
  .description(
    "A durable server for the Plant Store contract: POST /plants, bearer tokens, exact 64-bit ids.",
  )
  .version(packageJson.version)
  .configureOutput({
    outputError: (text, write) => write(`${usageError(text)} Run with --help for the usage.\n`),
  })
  .exitOverride()
  .addHelpText(
    "after",
    `
Every flag can be given as an environment variable NAME as well, which its help names; as NAME_FILE, which names a
file that holds the value; and in the file that --config names. "plantstore config" shows what holds for serve.

Examples:
  plantstore serve --port 8080 --database sqlite:plantstore.db
  plantstore token create --name ci --expires 90d
  plantstore get 9007199254740993
  plantstore export > plants.ndjson`,
  );
for (const command of [
  serveCommand(),
  tokenCommand(),
  getCommand(),
  exportCommand(),
  importCommand(),
  statsCommand(),
  backupCommand(),
  restoreCommand(),
  migrateCommand(),
  checkCommand(),
  configCommand(),
])
  program.addCommand(command);
inheritSettings(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** Tells the operator what went wrong, where commander has not, and gives the exit code for it. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
  if (error instanceof OperatorError) {
    tell(errorLine(error.message));
    return error.exitCode;
  }
  const stack = String(error instanceof Error ? error.stack : error);
  tell(`plantstore: a fault of the program: ${withoutPasswords(stack)}`);
  return 1;
}

/** Commander's errors in the form of all others. What follows the = of a misspelt flag may be a secret. */
function usageError(text: string): string {
  return errorLine(text.replace(/^error: /, "").replace(/^(unknown option '--[^=']+)=.*'/s, "$1'"));
}

/** One line that starts with the program's name. */
function errorLine(text: string): string {
  return `plantstore: ${withoutPasswords(text)
    .trim()
    .replaceAll(/\p{Cc}+/gu, " ")}`;
}

/** Commander copies settings such as exitOverride to commands that it makes itself, but not to those it is given. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

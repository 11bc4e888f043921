// Entry point: plantstore <command>. Each command is a file of commands/.

import { Command, CommanderError } from "commander";
import packageJson from "../package.json";
import { redactPasswords } from "./config/redact.ts";
import { OperatorError } from "./operator-error.ts";
import { printError, printLines } from "./output.ts";

const usageExitCode = 2;

/** Loaded on demand. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./commands/serve-command.ts")).serveCommand(),
  token: async () => (await import("./commands/token.ts")).tokenCommand(),
  get: async () => (await import("./commands/get.ts")).getCommand(),
  export: async () => (await import("./commands/export.ts")).exportCommand(),
  import: async () => (await import("./commands/import.ts")).importCommand(),
  stats: async () => (await import("./commands/stats.ts")).statsCommand(),
  backup: async () => (await import("./commands/backup.ts")).backupCommand(),
  restore: async () => (await import("./commands/restore.ts")).restoreCommand(),
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand(),
  check: async () => (await import("./commands/check.ts")).checkCommand(),
  index: async () => (await import("./commands/indexes.ts")).indexCommand(),
  password: async () => (await import("./commands/password.ts")).passwordCommand(),
  config: async () => (await import("./commands/config.ts")).configCommand(),
};

/** Output of commander: the help or the version. */
const helpTexts: string[] = [];

const program = new Command("plantstore")
  .description(
    "A durable server for the Plant Store contract: POST /plants, bearer tokens, exact 64-bit ids.",
  )
  .version(packageJson.version)
  .configureOutput({
    writeOut: (text) => helpTexts.push(text),
    outputError: (text, write) => write(`${usageError(text)}; see --help\n`),
  })
  .exitOverride()
  .addHelpText(
    "after",
    `
Settings, highest precedence first: a flag; its environment variable NAME, or NAME_FILE with the path of a file that
contains the value; the file that --config names; the default. "plantstore config" prints those of serve.

Examples:
  plantstore serve --port 8080 --database sqlite:plantstore.db
  plantstore token create --name ci --expires 90d
  plantstore get 9007199254740993
  plantstore export > plants.ndjson`,
  );
for (const load of loadersFor(process.argv[2])) program.addCommand(await load());
inheritSettings(program);

try {
  await program.parseAsync().catch(async (error) => {
    if (helpTexts.length > 0) await printLines([helpTexts.join("").replace(/\n$/, "")]);
    throw error;
  });
} catch (error) {
  process.exitCode = reportError(error);
}

/** The command of a first argument; all of them for anything else, such as help or a misspelt name. The version needs none. */
function loadersFor(name: string | undefined): (() => Promise<Command>)[] {
  if (name === "--version" || name === "-V") return [];
  const load = name !== undefined && Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  return load === undefined ? Object.values(loaders) : [load];
}

/** Prints an error, unless commander has printed it, and returns the exit code. */
function reportError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
  if (error instanceof OperatorError) {
    printError(errorLine(error.message));
    return error.exitCode;
  }
  const stack = String(error instanceof Error ? error.stack : error);
  printError(`plantstore: internal error: ${redactPasswords(stack)}`);
  return 1;
}

/** An error of commander in the form of all others. The text after the = of a misspelt flag may be a secret. */
function usageError(text: string): string {
  return errorLine(text.replace(/^error: /, "").replace(/^(unknown option '--[^=']+)=.*'/s, "$1'"));
}

/** One line that starts with the program's name. */
function errorLine(text: string): string {
  return `plantstore: ${redactPasswords(text)
    .trim()
    .replaceAll(/\p{Cc}+/gu, " ")}`;
}

/** Commander copies settings such as exitOverride to commands that it creates, but not to those that are added. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

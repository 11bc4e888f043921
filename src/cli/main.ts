// Runs plantstore <command>. Each command is a file of commands/.

import { Command, CommanderError } from "commander";
import { OperatorError } from "../base/operator-error.ts";
import { commandName, nameCommands } from "../process/command-name.ts";
import { redactPasswords } from "../process/config/redact.ts";
import { printError, printLines } from "../process/output.ts";

const usageExitCode = 2;

/** Loaded on demand. The help lists them in this order. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./commands/serve-command.ts")).serveCommand(),
  sandbox: async () => (await import("./commands/sandbox-command.ts")).sandboxCommand(),
  token: async () => (await import("./commands/token-command.ts")).tokenCommand(),
  get: async () => (await import("./commands/get-command.ts")).getCommand(),
  update: async () => (await import("./commands/update-command.ts")).updateCommand(),
  delete: async () => (await import("./commands/delete-command.ts")).deleteCommand(),
  history: async () => (await import("./commands/history-command.ts")).historyCommand(),
  export: async () => (await import("./commands/export-command.ts")).exportCommand(),
  import: async () => (await import("./commands/import-command.ts")).importCommand(),
  backup: async () => (await import("./commands/backup-command.ts")).backupCommand(),
  restore: async () => (await import("./commands/restore-command.ts")).restoreCommand(),
  migrate: async () => (await import("./commands/migrate-command.ts")).migrateCommand(),
  ready: async () => (await import("./commands/ready-command.ts")).readyCommand(),
  password: async () => (await import("./commands/password-command.ts")).passwordCommand(),
  conformance: async () => (await import("./commands/conformance-command.ts")).conformanceCommand(),
  config: async () => (await import("./commands/config-command.ts")).configCommand(),
};

// Without await: the package has this as CommonJS, which has no await outside of functions.
if (import.meta.main) {
  runCommandLine(process.argv.slice(2)).catch((error) => {
    const { exitCode, line } = describeError(error);
    if (line !== undefined) printError(line);
    process.exitCode = exitCode;
  });
}

/** Runs a command. Rejects with the error that ends it; describeError has its line. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const helpTexts: string[] = [];
  const version = isVersionFlag(args[0]) ? (await import("./build-info.ts")).describeBuild() : "";
  const program = createProgram(version, (text) => helpTexts.push(text));
  for (const load of loadersFor(args[0])) program.addCommand(await load());
  inheritSettings(program);
  await program.parseAsync(args, { from: "user" }).catch(async (error) => {
    if (helpTexts.length > 0) await printLines([nameCommands(helpTexts.join("").replace(/\n$/, ""))]);
    throw error;
  });
}

/** All commands, in the order of the help. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()));
}

/** The program without its commands. `writeOut` receives the help or the version. */
function createProgram(version: string, writeOut: (text: string) => void): Command {
  const name = commandName();
  return (
    new Command(name)
      .description(
        "A durable server for the Plant Store contract, or for any OpenAPI description: exact 64-bit ids, bearer tokens.",
      )
      .version(version)
      // Before the lines are wrapped.
      .configureHelp({ optionDescription: ({ description }) => nameCommands(description) })
      .configureOutput({
        writeOut,
        // runCommandLine rejects with the same text.
        outputError: () => undefined,
      })
      .exitOverride()
      .addHelpText(
        "after",
        `
Settings, highest precedence first: a flag; its environment variable NAME, or
NAME_FILE with the path of a file that contains the value; the file that
--config names; the default. "plantstore config" prints those of serve.

All commands except restore work while servers run.

Examples:
  ${name} sandbox --contract api.yaml
  ${name} serve --port 8080 --database sqlite:plantstore.db
  ${name} token create --name ci --expires 90d
  ${name} get 9007199254740993
  ${name} export > plants.ndjson`,
      )
  );
}

/** The command of a first argument; all commands for anything else, such as help. */
function loadersFor(name: string | undefined): (() => Promise<Command>)[] {
  if (isVersionFlag(name)) return [];
  const load = name !== undefined && Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  return load === undefined ? Object.values(loaders) : [load];
}

function isVersionFlag(name: string | undefined): boolean {
  return name === "--version" || name === "-V";
}

/** The exit code of a failed command line, and the line for standard error, if any. */
export function describeError(error: unknown): { exitCode: number; line?: string } {
  if (error instanceof SuppressedError) {
    // The command has failed, and then the closing of what it had opened.
    const failure = describeError(error.suppressed);
    const lines = new Set([failure.line, describeError(error.error).line]);
    return { exitCode: failure.exitCode, line: [...lines].join("\n") };
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { exitCode: 0 };
    if (error.code === "commander.help") return { exitCode: usageExitCode };
    return { exitCode: usageExitCode, line: `${usageError(error.message)}; see --help` };
  }
  if (error instanceof OperatorError) return { exitCode: error.exitCode, line: errorLine(error.message) };
  const stack = String(error instanceof Error ? error.stack : error);
  return { exitCode: 1, line: `plantstore: internal error: ${redactPasswords(stack)}` };
}

/** An error of commander in our form. The text after the = of a misspelt flag may be a secret. */
function usageError(text: string): string {
  const plain = text.replace(/^error: |\.$/g, "");
  return errorLine(plain.replace(/^(unknown option '--[^=']+)=.*'/s, "$1'"));
}

/** One line that starts with the program's name. */
function errorLine(text: string): string {
  return `plantstore: ${redactPasswords(nameCommands(text))
    .trim()
    .replaceAll(/\p{Cc}+/gu, " ")}`;
}

/** Commander copies settings such as exitOverride only to commands that it creates. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

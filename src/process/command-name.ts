// Finds the name that this program was called by, so that messages show commands as one can type
// them.

import { basename } from "node:path";
import { shellWord } from "../base/shell.ts";
import { redactUrl } from "./config/redact.ts";
import { host } from "./host.ts";

/** Set by bin/plantstore: how it was called. It has no prefix, because it is not a setting. */
const variable = "_PLANTSTORE_CALLED_AS";

declare const BUILD_COMMIT: string | undefined;

/** The path of the executable that `npm run build` makes; undefined where Bun runs the sources. */
const executable = typeof BUILD_COMMIT === "string" ? process.execPath : undefined;

/** The program and its first arguments, to start a command in a process of its own. */
export function ownProgram(): string[] {
  return executable === undefined ? [process.execPath, ...process.execArgv, Bun.main] : [executable];
}

/** Such as `plantstore`, `bin/plantstore`, `npx plantstore` or `yarn plantstore`. */
export function commandName(environment: NodeJS.ProcessEnv = host().environment): string {
  const path = environment[variable] ?? executable;
  if (path === undefined) return "plantstore";
  // That folder is on PATH only while npm runs a command.
  if (/(?:^|\/)node_modules\/\.bin\//.test(path)) return "npx plantstore";
  // Yarn's Plug'n'Play: only Yarn finds the runtime.
  if (/\/\.yarn\/unplugged\//.test(path)) return "yarn plantstore";
  if (Bun.which("plantstore", { PATH: environment.PATH ?? "" }) === path) return "plantstore";
  // An absolute path would be repeated in each line of a help.
  if (path.startsWith("/")) return path.endsWith("/bin/plantstore") ? "bin/plantstore" : basename(path);
  return shellWord(path);
}

/**
 * The flag --database of a command that is printed to be run next, if this one was called with it;
 * without a password.
 */
export function databaseFlag({
  database,
  sources,
}: {
  readonly database: string;
  readonly sources: { readonly database: string };
}): string {
  if (sources.database !== "flag") return "";
  return ` --database ${shellWord(redactUrl(database))}`;
}

/** Rewrites quoted commands, such as "plantstore migrate", as the user can type them. */
export function nameCommands(text: string): string {
  return text.replaceAll(/"plantstore(?=\s)/g, `"${commandName()}`);
}

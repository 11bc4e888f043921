// The name that this program was called by, so that messages show commands as one can type them.

import { basename } from "node:path";
import { host } from "./host.ts";

/** Set by bin/plantstore: how it was called. It has no prefix, because it is not a setting. */
const variable = "_PLANTSTORE_CALLED_AS";

declare const BUILD_COMMIT: string | undefined;

/** The path of the executable that `npm run build` makes; undefined where Bun runs the sources. */
const executable = typeof BUILD_COMMIT === "string" ? process.execPath : undefined;

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
  return /^[\w./~+@%,:-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** Rewrites quoted commands, such as "plantstore migrate", as the user can type them. */
export function nameCommands(text: string): string {
  return text.replaceAll(/"plantstore(?=\s)/g, `"${commandName()}`);
}

// The components of the operator console of a running server.

import { dirname, resolve } from "node:path";
import packageJson from "../../package.json";
import { TrustedProxies } from "../client-address.ts";
import { Backups, type RunningCopy } from "../console/backups.ts";
import { type ConsoleOptions, OperatorConsole } from "../console/operator-console.ts";
import { executable } from "./command-name.ts";
import type { ServeSettings } from "./config/resolve.ts";

const sqliteScheme = "sqlite:";

/**
 * Undefined if the console is off.
 *
 * @param parts of a server that is about to start.
 * @param fetch responds to a request as the public listener does. Called when the server has started.
 */
export function createConsole(
  config: ServeSettings,
  parts: Pick<ConsoleOptions, "store" | "events" | "now" | "wallNow">,
  fetch: (request: Request) => Promise<Response>,
): OperatorConsole | undefined {
  if (config.console === "off" || config.adminPort === "off") return undefined;
  const { database } = config;
  const file = sqliteFile(database);
  const url = `http://localhost${config.basePath}/plants`;
  return new OperatorConsole({
    ...parts,
    names: config.adminNames ?? [],
    trustedProxies: new TrustedProxies(config.trustedProxies ?? []),
    passwordHash: config.adminPasswordHash,
    bodyBytesMax: config.bodyBytesMax,
    post: (headers, body) => fetch(new Request(url, { method: "POST", headers, body })),
    backups:
      file === undefined
        ? undefined
        : new Backups({
            folder: dirname(resolve(file)),
            copy: (target) => startBackup(database, target),
            storeBytes: () => parts.store.bytesOnDisk(),
          }),
    version: packageJson.version,
  });
}

/** The path of a SQLite store; undefined for another engine. */
function sqliteFile(database: string): string | undefined {
  return database.startsWith(sqliteScheme) ? database.slice(sqliteScheme.length) : undefined;
}

/** Runs the backup command, in a process that can be ended at any time. */
function startBackup(database: string, file: string): RunningCopy {
  const child = Bun.spawn([...ownCommand(), "backup", file, "--database", database, "--quiet"], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const ended = Promise.all([child.exited, child.stderr.text()]).then(([exitCode, text]) => {
    if (exitCode === 0) return undefined;
    const reason = text.trim().replace(/^plantstore: /, "");
    return reason === "" ? "The backup was cancelled." : reason;
  });
  return { ended, cancel: () => child.kill("SIGKILL") };
}

function ownCommand(): string[] {
  return executable === undefined
    ? [process.execPath, "--no-env-file", "--config=/dev/null", Bun.main]
    : [executable];
}

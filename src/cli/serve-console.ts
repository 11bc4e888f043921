// The components of the operator console of a running server.

import { dirname, resolve } from "node:path";
import packageJson from "../../package.json";
import { TrustedProxies } from "../client-address.ts";
import { Backups, freeBytesIn, type RunningCopy } from "../console/backups.ts";
import { BulkEdits } from "../console/bulk-edits.ts";
import { Edits } from "../console/edits.ts";
import { Exports } from "../console/exports.ts";
import { Imports } from "../console/imports.ts";
import { Indexes } from "../console/indexes.ts";
import { Inventory } from "../console/inventory.ts";
import { NewPlants } from "../console/new-plant.ts";
import { OperatorConsole } from "../console/operator-console.ts";
import { Plants } from "../console/plants.ts";
import { Reader } from "../console/reader.ts";
import { RecentRequests } from "../console/recent-requests.ts";
import { RecentSamples } from "../console/recent-samples.ts";
import { Requests } from "../console/requests.ts";
import { Sessions } from "../console/sessions.ts";
import { Tokens } from "../console/tokens.ts";
import { randomBytes } from "../core/auth/token.ts";
import type { ServeConfig } from "./config/resolve.ts";
import type { ExtraContext, ServedRoutes } from "./extra.ts";

const recentRequestsMax = 1_000;

const sqliteScheme = "sqlite:";

/** The console, and what the sandbox shares with it. */
export interface ServedConsole extends ServedRoutes {
  /** The sessions of those who have given the console's password. */
  readonly sessions: Sessions;
  /** Makes the console forget what it knows of plants: call it when all of them were replaced. */
  forgetPlants(): void;
}

/** Undefined if the console is off. */
export function createConsole(
  config: ServeConfig,
  { store, events, fetch, now, wallNow }: ExtraContext,
): ServedConsole | undefined {
  if (config.console === "off" || config.adminPort === "off") return undefined;
  const { adminNames, trustedProxies, bodyBytesMax, basePath, database } = config;
  const { emit } = events;
  const resources = new AsyncDisposableStack();
  const history = new RecentSamples(now(), Date.now());
  events.subscribe((event) => history.handle(event));
  const recent = new RecentRequests(recentRequestsMax);
  events.subscribe((event) => recent.handle(event));
  const sessions = new Sessions({ passwordHash: config.adminPasswordHash, now, randomBytes });

  const opened = new Reader(store);
  const reader = () => opened.open();
  // Opened at once: on SQLite it is a thread, and Bun exits if a thread starts when no descriptor
  // is free. A failure is reported by the call that needs the connection.
  reader().catch(() => undefined);
  resources.defer(() => opened.close());

  const edits = new Edits({ store, reader, emit, now, wallNow: Date.now });
  resources.defer(() => edits.close());
  const imports = new Imports({ store, reader, edits, recordBytesMax: bodyBytesMax, emit, now });
  resources.defer(() => imports.close());
  const file = sqliteFile(database);
  const backups =
    file === undefined
      ? undefined
      : new Backups({
          folder: dirname(resolve(file)),
          copy: (target) => startBackup(database, target),
          storeBytes: () => store.bytesOnDisk(),
          freeBytes: () => freeBytesIn(dirname(resolve(file))),
          wallNow: Date.now,
        });
  resources.defer(() => backups?.close());
  const inventory = new Inventory({
    reader,
    now,
    bytesOnDisk: () => store.bytesOnDisk(),
    wallNow: Date.now,
  });
  events.subscribe((event) => inventory.handle(event));
  const url = `http://localhost${basePath}/plants`;
  const post = (headers: Headers, body: string) => fetch(new Request(url, { method: "POST", headers, body }));

  return {
    adminRoutes: new OperatorConsole({
      names: adminNames ?? [],
      trustedProxies: new TrustedProxies(trustedProxies ?? []),
      sessions,
      plants: new Plants({ reader, edit: (edit, client) => edits.edit(edit, client), bodyBytesMax }),
      edits,
      bulkEdits: new BulkEdits({ reader, edits, bodyBytesMax }),
      inventory,
      newPlants: new NewPlants({ store, post, edits, bodyBytesMax }),
      imports,
      exports: new Exports({
        reader,
        plants: () => inventory.plants,
        plantsOfTag: (tag) => inventory.plantsOfTag(tag),
      }),
      backups,
      requests: new Requests(recent, () => Date.now() - now()),
      tokens: new Tokens(store.tokens, wallNow),
      indexes: new Indexes({ store, reader, now }),
      history,
      now,
      about: { version: packageJson.version, engine: store.engine, run: crypto.randomUUID() },
      onInternalError: (error) => emit({ kind: "internalError", requestId: "console", error }),
    }),
    sessions,
    forgetPlants: () => inventory.clear(),
    close: () => resources.disposeAsync(),
  };
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

/** The command of this program, which a compiled executable contains. */
function ownCommand(): string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  return isCompiled
    ? [process.execPath]
    : [process.execPath, "--no-env-file", "--config=/dev/null", Bun.main];
}

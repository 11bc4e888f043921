// Our server, started as a user starts it.

import { dirname } from "node:path";
import { type Contender, type Durability, durabilityOf, type StoreContender } from "./contender.ts";
import { linesPrinted, runToEnd, ServerProcess } from "./processes.ts";

export const plantstore = new URL("../bin/plantstore", import.meta.url).pathname;

/** What a server is started with beside its store. */
export interface PlantstoreOptions {
  readonly name?: string;
  /** The command, this checkout's if left out. */
  readonly command?: string;
  readonly flags?: readonly string[];
  readonly adminListener?: "on" | "off";
  /** Whether what it logs is read by the benchmark, or by nobody. */
  readonly log?: "read" | "dropped";
}

/** Starts the server on a new SQLite store. */
export async function startPlantstore(
  folder: string,
  stack: AsyncDisposableStack,
  options: PlantstoreOptions = {},
): Promise<StoreContender & { readonly durability: Durability }> {
  const file = `${folder}/${options.name ?? "plantstore"}.db`;
  const database = `sqlite:${file}`;
  const token = await createToken(database, options.command);
  const contender = await startPlantstoreOn(database, token, stack, options);
  return { ...contender, file, durability: await durabilityOfStore(file, options.command) };
}

/** A token of a store, which is made if there is none yet. */
export async function createToken(database: string, command = plantstore): Promise<string> {
  await runToEnd([command, "migrate", "--database", database]);
  return (await runToEnd([command, "token", "create", "--name", "bench", "--database", database])).trim();
}

/** Every plant of a store as a line of JSON. */
export function exportLines(database: string): AsyncGenerator<string> {
  return linesPrinted([plantstore, "export", "--database", database]);
}

/** Starts a server on a store that has a token. */
export async function startPlantstoreOn(
  database: string,
  token: string,
  stack: AsyncDisposableStack,
  {
    name = "plantstore",
    command = plantstore,
    flags = [],
    adminListener = "off",
    log = "read",
  }: PlantstoreOptions = {},
): Promise<Contender> {
  const adminPort = adminListener === "on" ? "0" : "off";
  const serve = [
    command,
    "serve",
    "--port",
    "0",
    "--admin-port",
    adminPort,
    "--database",
    database,
    ...flags,
  ];
  const server = stack.use(new ServerProcess(log === "read" ? serve : withoutLog(serve)));
  return { name, url: await server.nextLine(), token, pid: server.pid, stop: () => server.stop() };
}

/** The same process, as the shell gives way to it. */
function withoutLog(command: readonly string[]): string[] {
  return ["sh", "-c", 'exec "$@" 2>/dev/null', "sh", ...command];
}

/**
 * `synchronous` is not kept in the file, so it is read from a connection that the store's own code has opened: that of
 * the command's checkout, as another one may expect another schema.
 */
async function durabilityOfStore(file: string, command = plantstore): Promise<Durability> {
  const { openDatabase } = (await import(
    `${dirname(command)}/../src/store/sqlite/connection.ts`
  )) as typeof import("../src/store/sqlite/connection.ts");
  const database = openDatabase(file, "existing");
  try {
    return durabilityOf(database);
  } finally {
    database.close();
  }
}

// Our server, started as a user starts it.

import { openDatabase } from "../src/store/sqlite/database.ts";
import { type Contender, type Durability, durabilityOf, type StoreContender } from "./contender.ts";
import { linesPrinted, runToEnd, ServerProcess } from "./processes.ts";

export const plantstore = new URL("../bin/plantstore", import.meta.url).pathname;

/** Starts the server on a new SQLite store. */
export async function startPlantstore(
  folder: string,
  stack: AsyncDisposableStack,
): Promise<StoreContender & { readonly durability: Durability }> {
  const file = `${folder}/plants.db`;
  const database = `sqlite:${file}`;
  const token = await createToken(database);
  const contender = await startPlantstoreOn(database, token, stack);
  return { ...contender, file, durability: durabilityOfStore(file) };
}

/** A token of a store, which is made if there is none yet. */
export async function createToken(database: string): Promise<string> {
  return (await runToEnd([plantstore, "token", "create", "--name", "bench", "--database", database])).trim();
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
): Promise<Contender> {
  const command = [plantstore, "serve", "--port", "0", "--admin-port", "off", "--database", database];
  const server = stack.use(new ServerProcess(command));
  return {
    name: "plantstore",
    url: await server.nextLine(),
    token,
    pid: server.pid,
    stop: () => server.stop(),
  };
}

/** `synchronous` is not kept in the file, so it is read from a connection that the store's own code has opened. */
function durabilityOfStore(file: string): Durability {
  const database = openDatabase(file, "existing");
  try {
    return durabilityOf(database);
  } finally {
    database.close();
  }
}

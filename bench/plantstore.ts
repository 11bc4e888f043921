// Our server, started as a user starts it.

import { openDatabase } from "../src/store/sqlite/database.ts";
import { type Durability, durabilityOf, type StoreContender } from "./contender.ts";
import { runToEnd, ServerProcess } from "./processes.ts";

const plantstore = new URL("../bin/plantstore", import.meta.url).pathname;

/** Starts the server on a new SQLite store. */
export async function startPlantstore(
  folder: string,
  stack: AsyncDisposableStack,
): Promise<StoreContender & { readonly durability: Durability }> {
  const file = `${folder}/plants.db`;
  const database = ["--database", `sqlite:${file}`];
  const token = await runToEnd([plantstore, "token", "create", "--name", "bench", ...database]);
  const server = stack.use(
    new ServerProcess([plantstore, "serve", "--port", "0", "--admin-port", "off", ...database]),
  );
  return {
    name: "plantstore",
    url: await server.nextLine(),
    token: token.trim(),
    pid: server.pid,
    file,
    durability: durabilityOfStore(file),
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

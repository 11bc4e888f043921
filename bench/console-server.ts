// Our server with its console.

import { steadyPort } from "../test/support/ports.ts";
import { plantstore } from "./plantstore.ts";
import { ServerProcess } from "./processes.ts";

export interface ConsoleServer extends AsyncDisposable {
  readonly url: string;
  readonly consoleUrl: string;
  readonly pid: number;
}

/** Starts a server on a store that is there. */
export async function startConsoleServer(database: string): Promise<ConsoleServer> {
  const port = steadyPort();
  const flags = ["--port", "0", "--admin-port", String(port), "--access-log", "0", "--database", database];
  const server = new ServerProcess([plantstore, "serve", ...flags]);
  return {
    url: await server.nextLine(),
    consoleUrl: `http://127.0.0.1:${port}/console/`,
    pid: server.pid,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

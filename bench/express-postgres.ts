// The same service on PostgreSQL as people usually write it, see peers/express-postgres/server.js.

import type { Contender } from "./contender.ts";
import { peerToken, startPeer } from "./peers.ts";

/** Of 10 and 20 the better one: 7,000 creates a second against 4,100 to 5,200, on 2 cores that were not idle. */
const poolConnections = 20;

/** Starts the Express service on an empty database. */
export async function startExpress(database: string, stack: AsyncDisposableStack): Promise<Contender> {
  const env = { DATABASE: database, POOL: String(poolConnections) };
  const { server, url } = await startPeer("express-postgres", env, stack);
  return { name: "express + pg", url, token: peerToken, pid: server.pid, stop: () => server.stop() };
}

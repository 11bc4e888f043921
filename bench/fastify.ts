// The same service as people usually write it, see peers/fastify/server.js.

import type { Durability, StoreContender } from "./contender.ts";
import { peerToken, startPeer } from "./peers.ts";

/** Starts the Fastify service on a new SQLite file. */
export async function startFastify(
  temporary: string,
  stack: AsyncDisposableStack,
): Promise<StoreContender & { readonly durability: Durability }> {
  const file = `${temporary}/fastify.db`;
  const { server, url } = await startPeer("fastify", { DATABASE: file }, stack);
  const pragmas = JSON.parse(await server.nextLine()) as { journal_mode: string; synchronous: number };
  return {
    name: "fastify",
    url,
    token: peerToken,
    pid: server.pid,
    file,
    durability: { journalMode: pragmas.journal_mode, synchronous: pragmas.synchronous },
    stop: () => server.stop(),
  };
}

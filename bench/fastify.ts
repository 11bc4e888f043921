// The same service as people usually write it, see peers/fastify/server.js.

import type { Durability, StoreContender } from "./contender.ts";
import { runToEnd, ServerProcess } from "./processes.ts";

const folder = new URL("peers/fastify/", import.meta.url).pathname;
const token = "a-token-as-long-as-one-of-those-that-plantstore-issues";

/** The current Node, which the peer's packages bring along: the machine's own may be of any age. */
export const peerNode = `${folder}node_modules/node/bin/node`;

/** Starts the Fastify service on a new SQLite file. */
export async function startFastify(
  temporary: string,
  stack: AsyncDisposableStack,
): Promise<StoreContender & { readonly durability: Durability }> {
  const file = `${temporary}/fastify.db`;
  const env = { NODE_ENV: "production", DATABASE: file, TOKEN: token, PORT: "0" };
  const server = stack.use(new ServerProcess([peerNode, `${folder}server.js`], env));
  const url = await server.nextLine();
  const pragmas = JSON.parse(await server.nextLine()) as { journal_mode: string; synchronous: number };
  return {
    name: "fastify",
    url,
    token,
    pid: server.pid,
    file,
    durability: { journalMode: pragmas.journal_mode, synchronous: pragmas.synchronous },
    stop: () => server.stop(),
  };
}

/** The versions that the peer runs on. */
export async function peerVersions(): Promise<Record<string, string>> {
  const fastify = (await Bun.file(`${folder}node_modules/fastify/package.json`).json()) as {
    version: string;
  };
  const node = JSON.parse(await runToEnd([peerNode, "-p", "JSON.stringify(process.versions)"])) as {
    node: string;
    sqlite: string;
  };
  return { Fastify: fastify.version, Node: node.node, "SQLite in Node": node.sqlite };
}

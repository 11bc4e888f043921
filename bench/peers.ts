// The services as people usually write them, in peers/: each a folder with packages of its own.

import { runToEnd, ServerProcess } from "./processes.ts";

/** What a peer expects of its clients. */
export const peerToken = "a-token-as-long-as-one-of-those-that-plantstore-issues";

/** The current Node, which the peer's packages bring along: the machine's own may be of any age. */
export function peerNode(peer: string): string {
  return `${folderOf(peer)}node_modules/node/bin/node`;
}

/** Starts a peer on a free port. Its first line is its address. */
export async function startPeer(
  peer: string,
  env: Readonly<Record<string, string>>,
  stack: AsyncDisposableStack,
): Promise<{ server: ServerProcess; url: string }> {
  const command = [peerNode(peer), `${folderOf(peer)}server.js`];
  const own = { NODE_ENV: "production", TOKEN: peerToken, PORT: "0", ...env };
  const server = stack.use(new ServerProcess(command, own));
  return { server, url: await server.nextLine() };
}

/** The versions of some of a peer's packages, of Node, and of some of the libraries within Node. */
export async function peerVersions(
  peer: string,
  packages: readonly string[],
  libraries: readonly string[] = [],
): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const name of packages) {
    const file = Bun.file(`${folderOf(peer)}node_modules/${name}/package.json`);
    versions[name] = ((await file.json()) as { version: string }).version;
  }
  const output = await runToEnd([peerNode(peer), "-p", "JSON.stringify(process.versions)"]);
  const { node = "unknown", ...others } = JSON.parse(output) as Record<string, string>;
  versions.Node = node;
  for (const library of libraries) versions[`${library} in Node`] = others[library] ?? "unknown";
  return versions;
}

function folderOf(peer: string): string {
  return new URL(`peers/${peer}/`, import.meta.url).pathname;
}

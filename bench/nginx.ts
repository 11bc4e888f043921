// nginx: as the yardstick, which reads the same requests and answers a fixed 200 without looking at them, and in
// front of several servers.

import { mkdirSync, writeFileSync } from "node:fs";
import type { Contender } from "./contender.ts";
import { ServerProcess } from "./processes.ts";

/** Connections that each of nginx's workers keeps open to the servers behind it. */
const keptConnections = 256;

/** Where nginx is. Debian puts it in /usr/sbin, which is not on everyone's PATH. */
export function nginxPath(): string | undefined {
  return Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }) ?? undefined;
}

/**
 * Starts nginx with one worker.
 *
 * @param body The JSON that it answers to everything.
 */
export function startNginx(
  folder: string,
  body: string,
  stack: AsyncDisposableStack,
): Contender & { readonly path: string } {
  const location = `default_type application/json; return 200 '${body}';`;
  return start("nginx", folder, { upstream: "", location, token: "not-looked-at" }, stack);
}

/** Starts nginx with one worker in front of servers that take the same token. */
export function startProxy(
  name: string,
  folder: string,
  servers: readonly [Contender, ...Contender[]],
  stack: AsyncDisposableStack,
): Contender {
  const members = servers.map(({ url }) => `server ${new URL(url).host};`).join(" ");
  const upstream = `upstream servers { ${members} keepalive ${keptConnections}; keepalive_requests 1000000000; }`;
  const location = `proxy_pass http://servers; proxy_http_version 1.1; proxy_set_header Connection "";`;
  return start(name, folder, { upstream, location, token: servers[0].token }, stack);
}

function start(
  name: string,
  folder: string,
  { upstream, location, token }: { upstream: string; location: string; token: string },
  stack: AsyncDisposableStack,
): Contender & { readonly path: string } {
  const path = nginxPath();
  if (path === undefined) throw new Error("nginx is not installed");
  const port = freePort();
  const own = `${folder}/nginx-${port}`;
  mkdirSync(own);
  const file = `${own}/nginx.conf`;
  writeFileSync(file, configuration(own, port, upstream, location));
  const server = stack.use(new ServerProcess([path, "-p", own, "-c", file, "-e", "stderr"]));
  return { name, path, url: `http://127.0.0.1:${port}`, token, pid: server.pid, stop: () => server.stop() };
}

/**
 * Without a master process the one worker is the process that was started, whose times can be read and which can be
 * ended by its id. The temporary folders are named because the defaults belong to root.
 */
function configuration(folder: string, port: number, upstream: string, location: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((module) => `  ${module}_temp_path ${folder}/${module};`)
    .join("\n");
  return `
daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
${temporary}
  access_log off;
  keepalive_requests 1000000000;
  keepalive_time 24h;
  ${upstream}
  server {
    listen 127.0.0.1:${port};
    location = /plants { ${location} }
  }
}
`;
}

/** nginx cannot take a free port and tell which. */
function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

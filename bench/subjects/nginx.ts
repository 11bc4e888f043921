// nginx as a subject: answering a fixed 200 to the same requests, and in front of several servers.

import { mkdirSync, writeFileSync } from "node:fs";
import { readThreads } from "../cpu-usage.ts";
import { findPort, findProgram, printedVersion, ServerProcess } from "../processes.ts";
import type { Setup } from "../suite.ts";
import { type HttpSubject, toPlant, untilCreates } from "./http.ts";

type NginxSubject = HttpSubject & { readonly pid: number };

/** Starts nginx with one worker and the response to the first plant of a load; undefined if it is not installed. */
export async function startStaticNginx(setup: Setup): Promise<NginxSubject | undefined> {
  const firstId = setup.nextFirstId();
  const location = `default_type application/json; return 200 '${JSON.stringify(toPlant(firstId))}';`;
  return start(setup, "nginx", firstId, "any", location);
}

/** Starts nginx with one worker in front of servers that accept the same token. */
export async function startProxy(
  setup: Setup,
  name: string,
  servers: readonly HttpSubject[],
): Promise<NginxSubject | undefined> {
  const members = servers.map(({ url }) => `server ${new URL(url).host};`).join(" ");
  const upstream = `upstream servers { ${members} keepalive 256; keepalive_requests 1000000000; }`;
  const location = `proxy_pass http://servers; proxy_http_version 1.1; proxy_set_header Connection "";`;
  return start(setup, name, setup.nextFirstId(), servers[0]?.token ?? "", location, upstream);
}

async function start(
  { folder, stack, skip, recordVersion }: Setup,
  name: string,
  firstId: number,
  token: string,
  location: string,
  upstream = "",
): Promise<NginxSubject | undefined> {
  const path = findProgram("nginx");
  if (path === null) {
    skip(name, "not installed: apt-get install nginx-light");
    return undefined;
  }
  recordVersion("nginx", printedVersion([path, "-v"]));
  const port = findPort();
  const own = `${folder}/nginx-${port}`;
  mkdirSync(own);
  writeFileSync(`${own}/nginx.conf`, configuration(own, port, location, upstream));
  const server = stack.use(new ServerProcess([path, "-p", own, "-c", `${own}/nginx.conf`, "-e", "stderr"]));
  const { pid } = server;
  const readCpu = () => readThreads([pid]);
  const subject = { name, token, url: `http://127.0.0.1:${port}`, pid, readCpu, stop: () => server.stop() };
  await untilCreates(subject, firstId);
  return subject;
}

/**
 * Without a master process the one worker is the process that was started, whose times can be read and which can be
 * ended by its id. The temporary folders are named because the defaults belong to root.
 */
function configuration(folder: string, port: number, location: string, upstream: string): string {
  const modules = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
daemon off; master_process off; worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  ${modules.map((module) => `${module}_temp_path ${folder}/${module};`).join(" ")}
  access_log off; keepalive_requests 1000000000; keepalive_time 24h;
  ${upstream}
  server { listen 127.0.0.1:${port}; location = /plants { ${location} } }
}
`;
}

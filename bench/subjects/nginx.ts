// nginx as a subject: it answers a fixed 200 to the same requests.

import { mkdirSync, writeFileSync } from "node:fs";
import { reservePort } from "../../test/support/ports.ts";
import { pathOf } from "../../test/support/programs.ts";
import { readThreads } from "../cpu-usage.ts";
import { printedVersion, ServerProcess } from "../processes.ts";
import type { Setup } from "../suite.ts";
import { type HttpSubject, toPlant, untilCreates } from "./http.ts";

/** Starts nginx with one worker and a load's first response; undefined if it is not installed. */
export async function startStaticNginx({
  folder,
  stack,
  skip,
  recordVersion,
  nextFirstId,
}: Setup): Promise<HttpSubject | undefined> {
  const name = "nginx";
  const path = pathOf(name);
  if (path === null) {
    skip(name, "not installed: apt-get install nginx-light");
    return undefined;
  }
  recordVersion(name, printedVersion([path, "-v"]));
  const [port, firstId] = [reservePort(), nextFirstId()];
  const own = `${folder}/nginx`;
  mkdirSync(own);
  writeFileSync(`${own}/nginx.conf`, configuration(own, port, JSON.stringify(toPlant(firstId))));
  const server = stack.use(new ServerProcess([path, "-p", own, "-c", `${own}/nginx.conf`, "-e", "stderr"]));
  const readCpu = () => readThreads(server.pid);
  const url = `http://127.0.0.1:${port}`;
  const subject = { name, token: "any", url, readCpu, stop: () => server.stop() };
  await untilCreates(subject, firstId);
  return subject;
}

/**
 * Without a master process the one worker is the process that was started, whose times can be read.
 * The temporary folders are named because the defaults belong to root.
 */
function configuration(folder: string, port: number, response: string): string {
  const modules = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const location = `default_type application/json; return 200 '${response}';`;
  return `
daemon off; master_process off; worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  ${modules.map((module) => `${module}_temp_path ${folder}/${module};`).join(" ")}
  access_log off; keepalive_requests 1000000000; keepalive_time 24h;
  server { listen 127.0.0.1:${port}; location = /plants { ${location} } }
}
`;
}

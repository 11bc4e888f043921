// nginx with the site file of deploy/, in a temporary folder.

import { writeFileSync } from "node:fs";
import { makeCertificate } from "./certificates.ts";
import { eventually } from "./eventually.ts";
import { acceptsConnections, reservePort } from "./ports.ts";
import { programPath } from "./programs.ts";
import { TemporaryFolder } from "./server.ts";

type Changes = readonly (readonly [from: string, to: string])[];

/** A line of the access log. */
interface Logged {
  /** The number of the client's connection. */
  readonly connection: string;
  /** The addresses of the servers that were asked, separated by commas. */
  readonly asked: string;
}

const siteFile = new URL("../../deploy/nginx/plantstore.conf", import.meta.url);

export type Nginx = Awaited<ReturnType<typeof startNginx>>;

/**
 * Starts nginx in front of two servers on the given ports, as in deploy/ but for ports and paths,
 * and waits until it accepts connections. Killed out of scope.
 *
 * @param hasClientIds whether it is told that clients choose all ids.
 */
export async function startNginx(serverPorts: readonly [number, number], hasClientIds = true) {
  const folder = new TemporaryFolder();
  const port = reservePort();
  const { certificate, key } = makeCertificate(folder, "site", "/CN=plants.example", "IP:127.0.0.1");
  const site = replaced(await Bun.file(siteFile).text(), [
    ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
    ["listen [::]:443 ssl;", ""],
    ["/etc/letsencrypt/live/plants.example/fullchain.pem", certificate],
    ["/etc/letsencrypt/live/plants.example/privkey.pem", key],
    ...(hasClientIds ? [['    "" 0;', '    "" 1;'] as const] : []),
    ["server 127.0.0.1:8080 ", `server 127.0.0.1:${serverPorts[0]} `],
    ["server 127.0.0.1:8082 ", `server 127.0.0.1:${serverPorts[1]} `],
  ]);
  writeFileSync(folder.file("site.conf"), site);
  writeFileSync(folder.file("nginx.conf"), mainConfiguration(folder));
  const command = [
    programPath("nginx"),
    ...["-p", folder.path, "-c", folder.file("nginx.conf"), "-e", folder.file("error.log")],
  ];
  assertValid(command);
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  await eventually("nginx accepts connections", async () => {
    if (child.exitCode !== null)
      throw new Error(`nginx did not start: ${await Bun.file(folder.file("error.log")).text()}`);
    return acceptsConnections(port);
  });
  return {
    url: `https://127.0.0.1:${port}`,
    /** The certificate that it presents, in PEM. */
    ca: await Bun.file(certificate).text(),
    /** The requests so far. */
    async log(): Promise<Logged[]> {
      const lines = (await Bun.file(folder.file("access.log")).text()).split("\n");
      return lines.filter(Boolean).map((line) => JSON.parse(line));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill("SIGTERM");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** nginx has neither an error nor a warning for its configuration. */
function assertValid(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command, "-t"]);
  const said = stderr.toString();
  if (exitCode !== 0 || said.includes("[warn]")) throw new Error(`nginx -t: ${said}`);
}

/** A text with each of some words in it replaced; every one of them must be there. */
function replaced(text: string, changes: Changes): string {
  return changes.reduce((done, [from, to]) => {
    if (!done.includes(from)) throw new Error(`The site file has no "${from}" any more`);
    return done.replaceAll(from, to);
  }, text);
}

/** The rest of Debian's nginx.conf. Root's workers stay root, so that they may enter the folder. */
function mainConfiguration(folder: TemporaryFolder): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (module) => `${module}_temp_path ${folder.file(module)};`,
  );
  return `
    daemon off;
    ${process.getuid?.() === 0 ? "user root;" : ""}
    worker_processes 2;
    pid ${folder.file("nginx.pid")};
    events {}
    http {
      ${temporary.join("\n      ")}
      log_format asked escape=json '{"connection":"$connection","asked":"$upstream_addr"}';
      access_log ${folder.file("access.log")} asked;
      include ${folder.file("site.conf")};
    }
  `;
}

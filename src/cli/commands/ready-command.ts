// plantstore ready: says whether the server with these settings is ready, for health checks.

import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import type { Config } from "../../process/config/resolve.ts";
import { printLines } from "../../process/output.ts";
import { withSettings } from "../command-options.ts";

/** Longer than a commit of a store that can still commit. */
const responseMsMax = 10_000;

/** About the time of a start. */
const retryMs = 100;

/** Settings of the address only: systemd 252 hides a unit's credentials from ExecStartPost. */
const listenerSettings = ["host", "port", "tlsCertificate", "adminHost", "adminPort"] as const;
type Listeners = Config<(typeof listenerSettings)[number]>;

export function readyCommand(): Command {
  const command = new Command("ready").description(
    "request /readyz from the server with these settings: print ready and exit with 0, or print the reason and exit with 1",
  );
  return withSettings(command, ["waitSecondsMax", ...listenerSettings], async (config) => {
    const url = readinessUrl(config);
    const deadline = performance.now() + config.waitSecondsMax * 1_000;
    for (;;) {
      const problem = await findProblem(url);
      if (problem === undefined) return printLines(["ready"]);
      if (performance.now() + retryMs > deadline) throw new OperatorError(`not ready: ${problem}`);
      await Bun.sleep(retryMs);
    }
  });
}

/** The URL to request; without an admin listener any response of the public one will do. */
function readinessUrl({ host, port, tlsCertificate, adminHost, adminPort }: Listeners): URL {
  if (adminPort !== "off" && adminPort !== 0)
    return new URL(`http://${authority(adminHost, adminPort)}/readyz`);
  if (port === 0)
    throw new OperatorError("--port 0 is a port that only the server knows; give --admin-port a number", 2);
  return new URL(`${tlsCertificate === undefined ? "http" : "https"}://${authority(host, port)}/`);
}

/** A listener on all addresses is reached on the loopback interface. */
function authority(host: string, port: number): string {
  if (host === "0.0.0.0") return `127.0.0.1:${port}`;
  if (host === "::") return `[::1]:${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns why the server is not ready. */
async function findProblem(url: URL): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      // One of the environment need not reach the addresses of this machine.
      proxy: false,
      redirect: "manual",
      // The certificate is for the name that clients use.
      tls: { rejectUnauthorized: false },
      signal: AbortSignal.timeout(responseMsMax),
    });
    const body = await response.text();
    const isReady = url.pathname === "/" || response.status === 200;
    return isReady ? undefined : `${url.href} responded with ${response.status}: ${body.trim()}`;
  } catch (error) {
    // Such as ECONNREFUSED or TimeoutError: the messages of fetch are for programmers.
    const { code, name } = error as NodeJS.ErrnoException;
    const reason = typeof code === "string" ? code : name;
    return `${url.origin} does not respond (${reason}); start the server, or name its address with --admin-port`;
  }
}

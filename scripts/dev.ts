// npm run dev: the server, started again whenever a source file changes. Bun's --watch misses files
// that only a worker loads, and ends the process without closing the store.

import { watch } from "node:fs";

const root = new URL("../", import.meta.url).pathname;

/** An editor changes several files, or one file several times, at once. */
const quietMs = 100;

let isStopping = false;
let child = start();
let timer: Timer | undefined;
let isRestarting = false;

for (const path of ["src", "openapi.yaml"])
  watch(`${root}${path}`, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => void restart(), quietMs);
  });

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    isStopping = true;
    void stop(signal).then(() => process.exit());
  });

function start(): Bun.Subprocess {
  const command = [`${root}bin/plantstore`, "serve", ...process.argv.slice(2)];
  return Bun.spawn(command, { stdio: ["inherit", "inherit", "inherit"] });
}

/** A server that has ended, perhaps by an error in the code, waits for the next change. */
async function stop(signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await child.exited;
}

async function restart(): Promise<void> {
  // The server that is about to start has this change, too. A second one would never be stopped.
  if (isRestarting) return;
  isRestarting = true;
  await stop("SIGTERM");
  if (!isStopping) child = start();
  isRestarting = false;
}

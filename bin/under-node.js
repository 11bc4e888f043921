// Hands bin/plantstore over to a shell where Node runs it, as Yarn 2 and later do.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const shell = "/bin/sh";
const args = [fileURLToPath(new URL("plantstore", import.meta.url)), ...process.argv.slice(2)];

// Node 22.15 and later become the server; earlier ones stay its parent.
if (process.execve) process.execve(shell, ["sh", ...args], process.env);
else runAsChild();

/** Passes signals on to the server, and ends as it ends. */
function runAsChild() {
  const child = spawn(shell, args, { stdio: "inherit" });
  const pass = (signal) => child.kill(signal);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  for (const signal of signals) process.on(signal, pass);
  child.once("exit", (code, signal) => {
    for (const name of signals) process.off(name, pass);
    if (signal === null) process.exitCode = code ?? 1;
    else process.kill(process.pid, signal);
  });
}

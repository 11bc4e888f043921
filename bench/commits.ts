// The project at another commit, measured together with this one: --against COMMIT.

import { runProgram } from "./processes.ts";
import type { Plantstore } from "./suite.ts";

const checkout = new URL("..", import.meta.url).pathname;

/** Clones a commit into a folder and installs what it needs. */
export async function checkOutCommit(commit: string, folder: string): Promise<Plantstore> {
  const clone = `${folder}/commit`;
  await runProgram(["git", "clone", "--quiet", "--shared", "--no-checkout", checkout, clone]);
  await runProgram(["git", "-C", clone, "checkout", "--quiet", "--detach", commit]);
  const { stdout } = await runProgram(["git", "-C", clone, "rev-parse", "--short", "HEAD"]);
  await runProgram(["npm", "ci", "--prefix", clone, "--prefer-offline", "--no-audit", "--no-fund"]);
  return { command: `${clone}/bin/plantstore`, suffix: ` at ${stdout.trim()}` };
}

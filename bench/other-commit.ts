// The project as it was at another commit, to be measured side by side with this one.

import { runToEnd } from "./processes.ts";

const checkout = new URL("..", import.meta.url).pathname;

/** Clones a commit into a temporary folder, installs what it needs, and gives its command. */
export async function commandOf(commit: string, temporary: string): Promise<string> {
  const folder = `${temporary}/commit`;
  await runToEnd(["git", "clone", "--quiet", "--shared", "--no-checkout", checkout, folder]);
  await runToEnd(["git", "-C", folder, "checkout", "--quiet", "--detach", commit]);
  await runToEnd(["npm", "ci", "--prefix", folder, "--no-audit", "--no-fund"]);
  return `${folder}/bin/plantstore`;
}

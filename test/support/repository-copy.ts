// A copy of the repository, for tests that change it.

import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { succeed } from "./npm-packages.ts";
import { programPath } from "./programs.ts";
import { runIn } from "./server.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Copies the files as they are now, and gives the copy a Git repository with an author. */
export async function copyRepository(copy: string): Promise<void> {
  const files = await succeed(root, ["git", "ls-files", "--cached", "--others", "--exclude-standard"]);
  for (const file of files.trim().split("\n").filter(isThere)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    copyFileSync(join(root, file), join(copy, file));
  }
  await succeed(copy, ["git", "init", "--quiet"]);
  await setAuthor(copy);
}

function isThere(file: string): boolean {
  return Bun.file(join(root, file)).size > 0;
}

/** Gives a Git repository what a commit needs. */
export async function setAuthor(repository: string): Promise<void> {
  for (const [name, value] of [
    ["user.name", "Tester"],
    ["user.email", "tester@example.com"],
    ["commit.gpgsign", "false"],
    ["tag.gpgsign", "false"],
  ] as const)
    await succeed(repository, ["git", "config", name, value]);
}

/** Gives a copy packages of its own: hard links where the file system can, which takes a second. */
export async function copyPackages(copy: string): Promise<void> {
  const [from, to] = [join(root, "node_modules"), join(copy, "node_modules")];
  const { exitCode } = await runIn(root, [programPath("cp"), "-al", from, to]);
  if (exitCode !== 0) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  // Links to the packages of this repository.
  rmSync(join(to, "@plantstore"), { recursive: true, force: true });
  // npm writes this file in place.
  const lock = join(to, ".package-lock.json");
  copyFileSync(lock, `${lock}.new`);
  renameSync(`${lock}.new`, lock);
}

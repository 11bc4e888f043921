// A copy of the repository, for tests that change it.

import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { succeed } from "./npm-packages.ts";

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

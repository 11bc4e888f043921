// Programs that some tests need: their paths, and suites that are skipped without them.

import { describe, test } from "bun:test";

/** Debian installs servers and mount here; not every user has these on PATH. */
const systemFolders = "/usr/local/sbin:/usr/sbin:/sbin";

/** How to install programs. Those that are not listed are Debian packages of the same name. */
const packages: Readonly<Record<string, string>> = {
  helm: "helm.sh/helm/v3/cmd/helm with go",
  nginx: "nginx-light",
  promtool: "prometheus",
  psql: "postgresql-client",
  pytest: "python3-pytest",
  "systemd-analyze": "systemd",
};

/** Says what to install if a program is missing; undefined if it is there. */
function programMissing(program: string): string | undefined {
  return pathOf(program) === null ? `install ${packages[program] ?? program}` : undefined;
}

/** A suite that is skipped if a program is missing; its name then says which package to install. */
export function describeIfInstalled(program: string, name: string, suite: () => void): void {
  describeUnless(programMissing(program), name, suite);
}

/** A test that is skipped if a program is missing; its name then says which package to install. */
export function testIfInstalled(program: string, name: string, run: () => Promise<void>): void {
  const reason = programMissing(program);
  if (reason === undefined) test(name, run);
  else test.skip(`${name} (skipped: ${reason})`, run);
}

/** A suite, or a skipped one whose name has the reason. */
export function describeUnless(reason: string | undefined, name: string, suite: () => void): void {
  if (reason === undefined) describe(name, suite);
  else describe.skip(`${name} (skipped: ${reason})`, suite);
}

/**
 * Why no tool is downloaded for a test; undefined with `npm run test:tools`. Their downloads take
 * minutes where none is in a cache.
 */
export const toolsMissing =
  process.env.PLANTSTORE_TEST_TOOLS === "all" ? undefined : "run npm run test:tools, which downloads tools";

/** The path of a program, or null. */
export function pathOf(program: string): string | null {
  return Bun.which(program, { PATH: `${process.env.PATH}:${systemFolders}` });
}

/** The absolute path of a program, for a child with another PATH. Throws if there is none. */
export function programPath(program: string): string {
  const path = pathOf(program);
  if (path === null)
    throw new Error(`There is no ${program}; a test that needs it must be skipped without it`);
  return path;
}

/**
 * The browser of the tests: CHROMIUM_PATH, or Debian's chromium-headless-shell or chromium; null if
 * there is none. The shell costs 0.15 s of processor time a page instead of 0.8 s.
 */
export function chromiumPath(): string | null {
  return process.env.CHROMIUM_PATH ?? pathOf("chromium-headless-shell") ?? pathOf("chromium");
}

// Programs of Debian's that some tests need.

import { describe } from "bun:test";

/** A suite that needs a program; where it is missing, it is skipped and its name says which package to install. */
export function suiteWith(
  program: string,
  name: string,
  suite: () => void,
  debianPackage: string = program,
): void {
  if (Bun.which(program) === null) describe.skip(`${name} (skipped: install ${debianPackage})`, suite);
  else describe(name, suite);
}

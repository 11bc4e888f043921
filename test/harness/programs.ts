// Programs of Debian's that some tests need.

import { describe } from "bun:test";

/** A suite that needs a program; where it is missing, it is skipped and its name says which package to install. */
export function suiteWith(
  program: string,
  name: string,
  suite: () => void,
  debianPackage: string = program,
): void {
  if (pathOf(program) === null) describe.skip(`${name} (skipped: install ${debianPackage})`, suite);
  else describe(name, suite);
}

/** Where a program is. Debian has servers in /usr/sbin, which is not on everyone's PATH. */
export function pathOf(program: string): string | null {
  return Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` });
}

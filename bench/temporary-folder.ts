// A folder for the files of one benchmark.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder that is removed with all it holds when the stack is unwound. */
export function temporaryFolder(stack: AsyncDisposableStack): string {
  const path = mkdtempSync(join(tmpdir(), "plantstore-bench-"));
  stack.defer(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

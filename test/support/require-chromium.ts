// Ends with one line that says what to install, where the tests in a browser have none.

import { chromiumPath } from "./chromium.ts";

const path = chromiumPath();
if (path === null || !(await Bun.file(path).exists())) {
  const where = path === null ? "on PATH" : `at ${path}, which CHROMIUM_PATH names`;
  await Bun.stderr.write(`There is no Chromium ${where}: apt-get install chromium, or set CHROMIUM_PATH\n`);
  process.exitCode = 1;
}

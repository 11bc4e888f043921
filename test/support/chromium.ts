// The path of Chromium.

import { pathOf } from "./programs.ts";

/** The browser of the tests: what CHROMIUM_PATH names, or chromium on PATH; null if there is none. */
export function chromiumPath(): string | null {
  return process.env.CHROMIUM_PATH ?? pathOf("chromium");
}

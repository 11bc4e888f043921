// The path of Chromium.

import { pathOf } from "./programs.ts";

/**
 * The browser of the tests: what CHROMIUM_PATH names, or Debian's chromium-headless-shell or chromium on PATH; null if there
 * is none. The shell is Chromium without its windows: a page costs it 0.15 s of processor time instead of 0.8 s.
 */
export function chromiumPath(): string | null {
  return process.env.CHROMIUM_PATH ?? pathOf("chromium-headless-shell") ?? pathOf("chromium");
}

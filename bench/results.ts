// Keeps each result, with all that was measured, in a file of its own.

import { mkdirSync } from "node:fs";
import type { Circumstances } from "./circumstances.ts";

/** Writes a result to bench/results/, and gives the file's path. */
export async function writeResult(
  suite: string,
  circumstances: Circumstances,
  result: Readonly<Record<string, unknown>>,
): Promise<string> {
  const folder = new URL("results/", import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  const date = circumstances.date.slice(0, 19).replaceAll(":", "");
  const path = `${folder}${date}-${circumstances.commit}-${suite}.json`;
  await Bun.write(path, `${JSON.stringify({ suite, circumstances, ...result }, undefined, 2)}\n`);
  return path;
}

// The corpus: one file for each input, named by the hash of its content.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = new URL("corpus", import.meta.url).pathname;

/** The kept inputs of a target, always in the same order. */
export function readCorpus(target: string): Buffer[] {
  const folder = join(root, target);
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name)));
}

/** Replaces the saved inputs with these. */
export function writeCorpus(target: string, inputs: readonly Buffer[]): void {
  const folder = join(root, target);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const input of inputs) writeFileSync(join(folder, nameOf(input)), input);
}

/** Saves an input that failed, and returns its path. */
export function writeFinding(target: string, input: Buffer): string {
  const path = join(root, target, nameOf(input));
  writeFileSync(path, input);
  return path;
}

function nameOf(input: Buffer): string {
  return Bun.SHA256.hash(input, "hex").slice(0, 16);
}

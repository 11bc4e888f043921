// Mutates kept inputs, and compares how the server reads them with an independent parser.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mutate, type Pick } from "./mutations.ts";

/** A function of the server that parses untrusted bytes, with an independent oracle. */
export interface FuzzTarget {
  /** The name of its folder in corpus/. */
  readonly name: string;
  /** Tokens of the grammar, which mutations of single bytes would rarely produce. */
  readonly words: readonly string[];
  /** Throws if an input is read otherwise than by the oracle. */
  readonly check: (input: Buffer) => void;
}

const bytesMax = 4_096;
/** Executions between yields to the event loop, for the background work of the code under test. */
const turnEvery = 500;

/**
 * Checks the corpus and mutations of it while `goesOn` returns true. Returns the executions. Rejects
 * at the first input that is misread, which it keeps in the corpus.
 */
export async function fuzz(
  { name, words, check }: FuzzTarget,
  pick: Pick,
  goesOn: (executions: number) => boolean,
): Promise<number> {
  const folder = new URL(`corpus/${name}`, import.meta.url).pathname;
  const paths = readdirSync(folder).toSorted();
  const corpus = paths.map((path) => readFileSync(join(folder, path)));
  const wordBytes = words.map((word) => Buffer.from(word));
  const any = () => corpus[pick(corpus.length)] ?? Buffer.of();
  let executions = 0;
  for (; executions < corpus.length || goesOn(executions); executions++) {
    if (executions % turnEvery === 0) await new Promise(setImmediate);
    const input = corpus[executions] ?? mutate(any(), any(), wordBytes, pick, bytesMax);
    try {
      check(input);
    } catch (cause) {
      const path = join(folder, Bun.SHA256.hash(input, "hex").slice(0, 16));
      writeFileSync(path, input);
      const text = Bun.inspect(input.toString("latin1"));
      throw new Error(`${name}: misread ${text}, the input ${executions}, kept as ${path}`, { cause });
    }
  }
  return executions;
}

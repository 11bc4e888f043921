// Edits kept inputs, and compares how the server reads them with an independent parser.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

const bytesMax = 4_096;
/**
 * Checks the corpus and edits of it, for a number of executions or a time. Returns the executions.
 * Rejects at the first input that is misread, which it shrinks and keeps in the corpus.
 */
export async function fuzz(
  check: (input: Buffer) => void,
  words: readonly string[],
  parameters: Pick<fc.Parameters<[Buffer]>, "seed" | "numRuns" | "interruptAfterTimeLimit">,
): Promise<number> {
  const folder = new URL("corpus", import.meta.url).pathname;
  const corpus = readdirSync(folder)
    .toSorted()
    .map((path) => readFileSync(join(folder, path)));
  const isReadRight = fc.asyncProperty(editsOf(corpus, words), async (input) => check(input));
  const result = await fc.check(isReadRight, { ...parameters, examples: corpus.map((input) => [input]) });
  const { counterexample, errorInstance } = result;
  if (counterexample !== null) {
    const [input] = counterexample;
    const path = join(folder, Bun.SHA256.hash(input, "hex").slice(0, 16));
    writeFileSync(path, input);
    const text = Bun.inspect(input.toString("latin1"));
    throw new Error(`misread ${text}, kept as ${path}`, { cause: errorInstance });
  }
  return result.numRuns;
}

/** Inputs in which bytes are replaced by a byte, a word, a part of another input, or nothing. */
function editsOf(corpus: readonly Buffer[], words: readonly string[]): fc.Arbitrary<Buffer> {
  const kept = fc.constantFrom(...corpus);
  const index = fc.nat(bytesMax);
  const replacement = fc.oneof(
    fc.constant(Buffer.of()),
    fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.of(byte)),
    fc.constantFrom(...words.map((word) => Buffer.from(word))),
    fc.tuple(kept, index, fc.nat(64)).map(([other, from, bytes]) => {
      const start = from % (other.length + 1);
      return other.subarray(start, start + bytes);
    }),
  );
  const edit = fc.tuple(index, fc.oneof(fc.constantFrom(0, 1), fc.nat(16), index), replacement);
  return fc.tuple(kept, fc.array(edit, { maxLength: 8 })).map(([input, edits]) =>
    edits
      .reduce((edited, [at, bytes, by]) => {
        const start = at % (edited.length + 1);
        return Buffer.concat([edited.subarray(0, start), by, edited.subarray(start + bytes)]);
      }, input)
      .subarray(0, bytesMax),
  );
}

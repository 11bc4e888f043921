// The mutants: places of src and of the kit, each with a fault to put there. A file of this folder
// holds those of one folder, a line each.

import { readdirSync, readFileSync } from "node:fs";

export interface Mutant {
  /** Its path from the root of the repository. */
  readonly file: string;
  /** What is replaced; it must be in the file once. */
  readonly text: string;
  readonly replacement: string;
  readonly breaks: string;
  /** The paths below test/ that must see it. */
  readonly tests: readonly string[];
  /** Why no test sees it, if none does. */
  readonly unseenBecause?: string;
}

/** The mark before the reason in the last column. */
const unseen = "nothing: ";

/** All mutants, by file. */
export function readMutants(): Mutant[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".tsv"))
    .toSorted()
    .flatMap((name) => rowsOf(readFileSync(`${import.meta.dirname}/${name}`, "utf8")));
}

function rowsOf(table: string): Mutant[] {
  const [, ...lines] = table.trimEnd().split("\n");
  return lines.map((line) => {
    const [file = "", text = "", replacement = "", breaks = "", seenBy = ""] = line.split("\t");
    return seenBy.startsWith(unseen)
      ? { file, text, replacement, breaks, tests: [], unseenBecause: seenBy.slice(unseen.length) }
      : { file, text, replacement, breaks, tests: seenBy.split(" ") };
  });
}

// Finds the file of each collection in a folder, as `export --all` writes and `import --all` reads
// them.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { OperatorError } from "../../base/operator-error.ts";
import type { Contract } from "../../contract/contract.ts";

/** The name of a collection's file without its ending. A name may have slashes. */
export function fileNameOf(name: string): string {
  return encodeURIComponent(name);
}

/** The endings of files that an import recognizes. */
const endings = ["ndjson", "json", "csv"].flatMap((ending) => [ending, `${ending}.gz`]);

/**
 * The collections that have a file in a folder, each with its path, and the names of the other files.
 * Throws an OperatorError if there is no file of a collection, or a collection has two.
 */
export function findFiles({ collections }: Contract, folder: string) {
  const entries = listFolder(folder);
  const files = collections.flatMap(({ name }) => {
    const [first, second] = endings
      .map((ending) => `${fileNameOf(name)}.${ending}`)
      .filter((file) => entries.includes(file));
    if (second !== undefined)
      throw new OperatorError(`${folder} has ${first} and ${second}; leave one file of ${name} there`, 2);
    return first === undefined ? [] : [{ collection: name, file: join(folder, first) }];
  });
  if (files.length === 0)
    throw new OperatorError(
      `${folder} has no file of a collection, such as ${fileNameOf(collections[0]?.name ?? "")}.ndjson`,
      2,
    );
  const taken = new Set(files.map(({ file }) => file));
  return { files, others: entries.filter((entry) => !taken.has(join(folder, entry))) };
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`the folder ${folder} cannot be read (${code}); name another with --all`, 2);
  }
}

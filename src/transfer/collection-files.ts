// Finds the file of each collection in a folder, as `export --all` writes and `import --all` and
// `--seed` read them.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection } from "../contract/contract.ts";
import { formatOfName } from "./content.ts";

/** The name of a collection's file without its ending. A name may have slashes. */
export function fileNameOf({ name }: Collection): string {
  return encodeURIComponent(name);
}

/**
 * The collections that have a file in a folder, each with its path, and the names of the other files.
 * Throws an OperatorError if there is no file of a collection, or a collection has two.
 *
 * @param flag names the folder in messages.
 */
export function findFiles(collections: readonly Collection[], folder: string, flag: string) {
  const entries = listFolder(folder, flag);
  const others = new Set(entries);
  const files = collections.flatMap((collection) => {
    const name = fileNameOf(collection);
    const isOwn = new RegExp(`^${RegExp.escape(name)}\\.[a-z]+(?:\\.gz)?$`);
    const [first, second] = entries.filter((entry) => isOwn.test(entry) && formatOfName(entry) !== undefined);
    if (second !== undefined)
      throw new OperatorError(`${folder} has ${first} and ${second}; leave one file of ${name} there`, 2);
    if (first === undefined) return [];
    others.delete(first);
    return [{ collection, file: join(folder, first) }];
  });
  if (files.length === 0)
    throw new OperatorError(
      `${folder} has no file of a collection, such as ${collections.map(fileNameOf)[0]}.ndjson`,
      2,
    );
  return { files, others: [...others] };
}

function listFolder(folder: string, flag: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .toSorted();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`the folder ${folder} cannot be read (${code}); name another with ${flag}`, 2);
  }
}

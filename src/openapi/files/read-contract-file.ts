// Reads the contract that --contract names, with the files in its folder that it refers to.

import { readFile } from "node:fs/promises";
import { OperatorError } from "../../base/operator-error.ts";
import type { ContractSource } from "../../contract/contract.ts";

/** Rejects with an OperatorError if a file cannot be read. */
export async function readContractFile(file: string): Promise<ContractSource> {
  const text = await readFile(file, "utf8").catch(({ code }: NodeJS.ErrnoException) => {
    throw new OperatorError(`the contract ${file} cannot be read (${code}); name a file with --contract`, 2);
  });
  const source = { text };
  if (!refersElsewhere.test(text)) return source;
  // Loaded late, as most contracts are in one file.
  const { bundleFiles } = await import("./bundle-files.ts");
  return bundleFiles(file, source);
}

/** A reference that does not begin with "#". */
const refersElsewhere = /\$ref["']?\s*:\s*(?!\s|["']?#)/;

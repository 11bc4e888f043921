// Notices that the file of a contract has changed, or one that it refers to.

import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorMessage, OperatorError } from "../../base/operator-error.ts";
import type { ContractSource } from "../../contract/contract.ts";
import { readContractFile } from "./read-contract-file.ts";

/** The pause between two looks: a file that an editor writes in parts is read again. */
const lookMs = 250;

/** The contract of a file, or why it cannot be read. */
export type ContractFileChange = ContractSource | { readonly fault: string };

/**
 * Yields each change of a contract, until the signal is aborted.
 *
 * @param current the contract as it was read.
 */
export async function* contractChanges(
  file: string,
  current: ContractSource,
  signal: AbortSignal,
): AsyncGenerator<ContractFileChange> {
  let source = current;
  let stamp = stampOf(file, source);
  while (!signal.aborted) {
    await Bun.sleep(lookMs);
    const next = stampOf(file, source);
    if (signal.aborted || next === stamp) continue;
    stamp = next;
    try {
      // A pipe would be waited for.
      if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
        throw new OperatorError(`${file} is no file any more`);
      const read = await readContractFile(file);
      if (read.text === source.text) continue;
      source = read;
      stamp = stampOf(file, source);
      yield read;
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      yield { fault: errorMessage(error) };
    }
  }
}

/** Differs when one of the files does. */
function stampOf(file: string, { origins }: ContractSource): string {
  const others = new Set([...(origins?.values() ?? [])].map((key) => key.replace(/#.*$/s, "")));
  const files = [file, ...[...others].map((name) => resolve(dirname(file), name))];
  return files
    .map((each) => {
      const stat = statSync(each, { throwIfNoEntry: false });
      return `${stat?.ino} ${stat?.mtimeMs} ${stat?.size}`;
    })
    .join();
}

// The contract that --contract names.

import type { ContractSource } from "../core/contract/contract.ts";
import { OperatorError } from "../core/operator-error.ts";

/** Undefined without a file. Rejects with an OperatorError if it cannot be read. */
export async function contractSource({
  contract,
  collection,
}: {
  readonly contract: string | undefined;
  readonly collection: string | undefined;
}): Promise<ContractSource | undefined> {
  if (contract === undefined) {
    if (collection === undefined) return undefined;
    throw new OperatorError("--collection chooses one of a contract; name its file with --contract", 2);
  }
  try {
    return { text: await Bun.file(contract).text(), collection };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `the contract ${contract} cannot be read (${code}); name a file with --contract`,
      2,
    );
  }
}

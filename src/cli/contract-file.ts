// The contract that --contract names.

import { readContractFile } from "../contract-file/read-contract-file.ts";
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
  if (contract !== undefined) return readContractFile(contract, collection);
  if (collection === undefined) return undefined;
  throw new OperatorError("--collection chooses one of a contract; name its file with --contract", 2);
}

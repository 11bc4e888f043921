// The contract that --contract names.

import { readContractFile } from "../../contract-file/read-contract-file.ts";
import type { ContractSource } from "../../core/contract/contract.ts";

/** Undefined without a file. Rejects with an OperatorError if it cannot be read. */
export async function contractSource({
  contract,
}: {
  readonly contract: string | undefined;
}): Promise<ContractSource | undefined> {
  return contract === undefined ? undefined : readContractFile(contract);
}

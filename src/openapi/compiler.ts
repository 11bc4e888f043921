// The compiler that the core is given: from the text of a description to a contract. Its parts are
// loaded for another contract than the Plant Store's.

import type { Contract, ContractSource } from "../contract/contract.ts";
import { plantStoreContract, plantStoreSource } from "./default-contract.ts";

/** @param isLenient whether it is for a sandbox, see Contract. */
export async function compiler(
  source: ContractSource = plantStoreSource,
  { isLenient = false } = {},
): Promise<Contract> {
  if (source.text === plantStoreSource.text) return plantStoreContract(isLenient);
  const { readContract } = await import("./description/read-contract.ts");
  return await readContract(source, { isLenient });
}

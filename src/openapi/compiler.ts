// The compiler that the core is given: from the text of a description to a contract. Its parts are
// loaded when they are needed first.

import type { ContractCompiler } from "../contract/contract.ts";

export const compiler: ContractCompiler = async (source) => {
  const { readContract } = await import("./description/read-contract.ts");
  return await readContract(source ?? (await import("./default-contract.ts")).plantStoreSource);
};

// The compiler that the core is given: from the text of a description to a contract. Its parts are
// loaded when they are needed first.

import type { ContractCompiler } from "../contract/compiler.ts";

export const compiler: ContractCompiler = {
  async readContract(source) {
    const { readContract } = await import("./description/read-contract.ts");
    return await readContract(source ?? (await import("./default-contract.ts")).plantStoreSource);
  },
  async loadComparison() {
    const { findRefusedChange } = await import("./description/compare-contracts.ts");
    const { restrictsAlike } = await import("./schema/restrictions.ts");
    return { findRefusedChange, restrictsAlike };
  },
};

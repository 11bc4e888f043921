// Declares what the core is given to read descriptions with: it knows contracts, and not OpenAPI.

import type { Contract, ContractSource } from "./contract.ts";

/**
 * Reads a description, by default the Plant Store's. Rejects with an OperatorError that says in one
 * sentence why it cannot be served.
 */
export type ContractCompiler = (source?: ContractSource) => Promise<Contract>;

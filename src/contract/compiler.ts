// Declares what the core is given to read descriptions with: it knows contracts, and not OpenAPI.

import type { Json } from "../json/json-values.ts";
import type { Collection, Contract, ContractSource } from "./contract.ts";

export interface ContractCompiler {
  /**
   * Reads a description, by default the Plant Store's. Rejects with an OperatorError that says in one
   * sentence why it cannot be served.
   */
  readContract(source?: ContractSource): Promise<Contract>;
  /** Loads what compares two contracts, which a store needs only when its contract changes. */
  loadComparison(): Promise<ContractComparison>;
}

export interface ContractComparison {
  /**
   * The first change of a collection that a store cannot take over, as a sentence; undefined if it
   * can.
   */
  findRefusedChange(stored: Collection, wanted: Collection): string | undefined;
  /** Whether two schemas restrict values by the same keywords. */
  restrictsAlike(one: Json, other: Json): boolean;
}

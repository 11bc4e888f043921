// Holds the contract that is served unless another one is named: the Plant Store's.

import document from "../../openapi.yaml";
import type { ContractSource } from "../contract/contract.ts";

// Bun reads the file where it loads or bundles this one, and loses no digits, as the file has only
// safe integers: reading it with another library would take 50 ms of each start.
export const plantStoreSource: ContractSource = { text: JSON.stringify(document) };

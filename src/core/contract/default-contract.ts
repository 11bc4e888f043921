// The contract that is served unless another one is named: the Plant Store's.

import text from "../../../openapi.yaml" with { type: "text" };
import type { ContractSource } from "./contract.ts";

export const plantStoreSource: ContractSource = { text };

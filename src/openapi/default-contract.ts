// Holds the contract that is served unless another one is named: the Plant Store's, as it is described
// and as the compiler reads it.

import file from "../../openapi.yaml";
import type { Contract, ContractSource, Field, OpenApiDocument } from "../contract/contract.ts";
import { receivedContract, type SentContract, sentContract } from "../contract/sent-contract.ts";
import compiled from "./plant-store.json";

// Bun reads the file where it loads or bundles this one, and loses no digits, as the file has only
// safe integers: reading it with another library would take 50 ms of each start.
const document = file as unknown as OpenApiDocument;

export const plantStoreSource: ContractSource = { text: JSON.stringify(document) };

/**
 * The Plant Store's contract from plant-store.json: compiling it would take a quarter of each start.
 *
 * @param isLenient see Contract.
 */
export function plantStoreContract(isLenient: boolean): Contract {
  const { collections, ...sent } = compiled as unknown as SentContract;
  const contract = receivedContract({ ...sent, collections, source: plantStoreSource, document, isLenient });
  return {
    ...contract,
    document,
    collections: contract.collections.map(({ examples, ...collection }) => ({
      ...collection,
      body: undefined,
      titleField: fieldNamed(collection.fields, "name"),
      groupField: fieldNamed(collection.fields, "tag"),
      // JSON has null for undefined, and no bigint.
      examples: examples.map(({ id, values }) => ({
        id: BigInt(id),
        values: values.map((value) => value ?? undefined),
      })),
    })),
  };
}

/** The contract of the Plant Store as the compiler reads it, for plant-store.json. */
export function compiledJson(contract: Contract): string {
  const { source: _, document: __, ...sent } = sentContract(contract);
  return JSON.stringify(sent, (_, value) => (typeof value === "bigint" ? String(value) : value), 2);
}

function fieldNamed(fields: readonly Field[], wanted: string): Field | undefined {
  return fields.find(({ name }) => name === wanted);
}

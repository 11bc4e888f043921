// The contract of the Plant Store, its plants, and contracts of shelves.

import type { Collection, Contract, ContractSource, Plant, Values } from "../../src/contract/contract.ts";
import { plantStoreSource } from "../../src/openapi/default-contract.ts";
import { readContract } from "../../src/openapi/description/read-contract.ts";

/** A contract with the members of its only collection. */
export type SingleContract = Contract & Collection;

export const plantStore: SingleContract = await readSingle(plantStoreSource);

export async function readSingle(source: ContractSource, isLenient = false): Promise<SingleContract> {
  const contract = await readContract(source, { isLenient });
  return { ...contract, ...onlyCollection(contract) };
}

/** The members of a plant besides its id. */
export interface PlantFields {
  readonly name: string;
  readonly tag?: string | undefined;
}

export function plant({ id, ...fields }: PlantFields & { readonly id: bigint }): Plant {
  return { id, values: values(fields) };
}

export function values({ name, tag }: PlantFields): Values {
  return [name, tag];
}

/** Plants, also those that are given as their fields. */
export function toPlants(all: readonly (Plant | (PlantFields & { readonly id: bigint }))[]): Plant[] {
  return all.map((each) => ("values" in each ? each : plant(each)));
}

export type PlantLike = Parameters<typeof toPlants>[0][number];

type Json = Record<string, unknown>;

/** A contract of shelves with these properties. */
export function shelves(properties: Json, required: readonly string[] = ["name"], path = "/shelves") {
  const schema = {
    type: "object",
    required: ["id", ...required],
    properties: { id: { type: "integer" }, ...properties },
  };
  const content = { "application/json": { schema } };
  const post = { requestBody: { content }, responses: { 200: { description: "ok", content } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "Shelves", version: "1" },
    paths: { [path]: { post } },
  };
  return { text: JSON.stringify(document) };
}

export const shelfFields = {
  name: { type: "string", maxLength: 10 },
  size: { type: "integer", minimum: 1, maximum: 9 },
  kind: { type: "string", enum: ["a", "b"] },
};

/** The collection of a contract that has one. */
export function onlyCollection({ collections: [collection] }: Pick<Contract, "collections">): Collection {
  if (collection === undefined) throw new Error("The contract has no collection");
  return collection;
}

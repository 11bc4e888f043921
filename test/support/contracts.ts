// The contract of the Plant Store, and its plants.

import type { Contract, Plant, Values } from "../../src/core/contract/contract.ts";
import { plantStoreSource } from "../../src/core/contract/default-contract.ts";
import { readContract } from "../../src/core/contract/read-contract.ts";

export const plantStore: Contract = await readContract(plantStoreSource);

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

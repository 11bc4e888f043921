// The contract of a store: it is written into the store when that is created, and read there.

import { type Contract, type ContractSource, type Field, onlyCollection } from "../contract/contract.ts";
import { OperatorError } from "../operator-error.ts";

interface ChosenContract {
  readonly contract: Contract;
  /** The fields that the store's own contract does not have. */
  readonly added: readonly Field[];
}

/**
 * The contract to open a store with: the one that is wanted, if the store can take it over, or else
 * its own. Rejects with an OperatorError.
 *
 * @param own undefined for a store that is new.
 * @param known a contract that is already parsed.
 */
export async function chooseContract(
  own: ContractSource | undefined,
  wanted: ContractSource | undefined,
  known?: Contract,
): Promise<ChosenContract> {
  const isUnchanged = wanted === undefined || own === undefined || isSameSource(own, wanted);
  // Parts are loaded late, as a thread that knows its contract needs none of them.
  const chosen = wanted ?? own ?? (await import("../contract/default-contract.ts")).plantStoreSource;
  if (isUnchanged && known !== undefined && isSameSource(known.source, chosen))
    return { contract: known, added: [] };
  // Loaded late, as a thread that knows its contract does not need it.
  const { readContract } = await import("../contract/description/read-contract.ts");
  if (isUnchanged) return { contract: await readContract(own ?? chosen), added: [] };
  const { findRefusedChange } = await import("../contract/description/compare-contracts.ts");
  const contract = await readContract(wanted);
  const [stored, collection] = [onlyCollection(await readContract(own)), onlyCollection(contract)];
  const refused = findRefusedChange(stored, collection);
  if (refused !== undefined)
    throw new OperatorError(
      `the store has another contract, which it keeps: ${refused}; name a contract that fits, or another store`,
    );
  const names = new Set(stored.fields.map(({ name }) => name));
  return { contract, added: collection.fields.filter(({ name }) => !names.has(name)) };
}

/** A source as the columns of a store have it. */
export interface StoredSource {
  readonly text: string;
  readonly json: string | null;
  readonly collection: string | null;
}

export function sourceOf({ text, json, collection }: StoredSource): ContractSource {
  return { text, json: json ?? undefined, collection: collection ?? undefined };
}

export function isSameSource(one: ContractSource | undefined, other: ContractSource): boolean {
  return one?.text === other.text && one.collection === other.collection;
}

// The contract of a store: it is written into the store when that is created, and read there.

import type { Contract, ContractSource, Field } from "../contract/contract.ts";
import { OperatorError } from "../operator-error.ts";

/** A field that the store's contract does not have, and the table of its collection. */
export interface AddedField {
  readonly table: string;
  readonly field: Field;
}

interface ChosenContract {
  readonly contract: Contract;
  /** The fields that the store's own contract does not have. */
  readonly added: readonly AddedField[];
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
  const json = chosen.json ?? own?.json;
  if (isUnchanged) return { contract: await readContract({ ...chosen, json }), added: [] };
  const { findRefusedChange } = await import("../contract/description/compare-contracts.ts");
  const [stored, contract] = [await readContract(own), await readContract(wanted)];
  const added = contract.collections.flatMap((collection) => {
    const { table, path, fields } = collection;
    const before = stored.collections.find((each) => each.table === table);
    const refused = before && findRefusedChange(before, collection);
    if (refused !== undefined) {
      const where = contract.collections.length > 1 ? `of ${path}, ` : "";
      throw new OperatorError(
        `the store has another contract, which it keeps: ${where}${refused}; name a contract that fits, or another store`,
      );
    }
    const names = new Set(before?.fields.map(({ name }) => name));
    return fields.filter(({ name }) => !names.has(name)).map((field) => ({ table, field }));
  });
  return { contract, added };
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

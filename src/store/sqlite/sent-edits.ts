// Writes edits as JSON, and their outcomes, which cross threads in half the time of objects.

import { type Collection, type Contract, collectionOf, countCodeUnits } from "../../contract/contract.ts";
import { fromColumns, toColumns } from "../../contract/plant.ts";
import type { ColumnValue } from "../../contract/stored-types.ts";
import {
  assertCurrent,
  type ConditionalEdit,
  ContractChanged,
  type EditOutcome,
  type RecordedEdit,
} from "../shared/plant-edit.ts";
import type { Creation, StoredPlant } from "../shared/plant-rows.ts";
import { type SentError, toError, toSentError } from "./worker-rpc.ts";

/** The columns of values: integers are digits, as JSON has no bigint. */
type SentColumns = readonly (string | number | boolean | null)[];

type SentCreation = readonly [createdAt: number, creator: number | null, key: string | null];

type SentPlant = readonly [SentColumns, version: string, SentCreation];

/** Versions and ids are texts. */
type SentEdit = readonly [
  table: string,
  run: string,
  seq: number,
  editor: string,
  editedAt: number,
  id: string,
  expected: SentPlant | "any" | null,
  replacement: SentColumns | null,
  version: string | null,
  creation: SentCreation | null,
  undo: readonly [version: string, restores: string | null] | null,
];

/**
 * Writes edits, unless their values are longer than all of the text may be: 0.3 s and 250 MB for nothing,
 * with 64 of the largest plants. Throws ContractChanged if an edit was checked by another contract.
 */
export function editsText(
  contract: Contract,
  edits: readonly RecordedEdit[],
  codeUnitsMax: number,
): string | undefined {
  assertCurrent(contract, edits);
  let codeUnits = 0;
  for (const { table, edit } of edits) {
    const { expected, replacement } = edit;
    const collection = collectionOf(contract, table);
    if (replacement !== undefined) codeUnits += countCodeUnits(collection, replacement);
    if (typeof expected === "object") codeUnits += countCodeUnits(collection, expected.values);
  }
  if (codeUnits > codeUnitsMax) return undefined;
  return JSON.stringify([
    contract.number ?? null,
    edits.map((edit) => toSent(collectionOf(contract, edit.table), edit)),
  ]);
}

/** Throws ContractChanged if the text was written by another contract. */
export function readEdits(contract: Contract, text: string): RecordedEdit[] {
  const [number, sent] = JSON.parse(text) as [number: number | null, sent: readonly SentEdit[]];
  if (number !== (contract.number ?? null)) throw new ContractChanged();
  return sent.map((each) => fromSent(contract, each));
}

function toSent(collection: Collection, { table, run, seq, editor, editedAt, edit }: RecordedEdit): SentEdit {
  const { id, expected, replacement } = edit;
  const { version, creation, undo } = edit as Partial<ConditionalEdit>;
  return [
    ...([table, run, seq, editor, editedAt, String(id)] as const),
    typeof expected === "object" ? sentPlant(collection, expected) : (expected ?? null),
    replacement === undefined ? null : sentColumns(collection, replacement),
    version?.toString() ?? null,
    creation === undefined ? null : sentCreation(creation),
    undo === undefined ? null : [String(undo.version), undo.restores?.toString() ?? null],
  ];
}

function fromSent(
  contract: Contract,
  [table, run, seq, editor, editedAt, idText, expected, replacement, version, creation, undo]: SentEdit,
): RecordedEdit {
  const collection = collectionOf(contract, table);
  const id = collection.id.type.fromColumn(idText);
  const recorded = { table, contractNumber: contract.number, run, seq, editor, editedAt };
  if (expected === "any") return { ...recorded, edit: { id, expected, replacement: undefined } };
  const edit: ConditionalEdit = {
    id,
    expected: expected === null ? undefined : stored(collection, id, expected),
    replacement: replacement === null ? undefined : fromColumns(collection, replacement),
    version: BigInt(version ?? 0),
    ...(creation !== null && { creation: creationOf(creation) }),
    ...(undo !== null && {
      undo: { version: BigInt(undo[0]), restores: undo[1] === null ? undefined : BigInt(undo[1]) },
    }),
  };
  return { ...recorded, edit };
}

function stored(
  collection: Collection,
  id: StoredPlant["id"],
  [columns, version, creation]: SentPlant,
): StoredPlant {
  return { id, values: fromColumns(collection, columns), ...creationOf(creation), version: BigInt(version) };
}

function sentPlant(collection: Collection, plant: StoredPlant): SentPlant {
  return [sentColumns(collection, plant.values), String(plant.version), sentCreation(plant)];
}

function sentColumns(collection: Collection, values: StoredPlant["values"]): SentColumns {
  return toColumns(collection, values).map((value: ColumnValue) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function sentCreation({ createdAt, creator, key }: Creation): SentCreation {
  return [createdAt, creator, key ?? null];
}

function creationOf([createdAt, creator, key]: SentCreation): Creation {
  return key === null ? { createdAt, creator } : { createdAt, creator, key };
}

/** The response to edits: their outcomes, or the error with which they failed. */
export async function outcomesText(edit: () => Promise<readonly EditOutcome[]>): Promise<string> {
  try {
    return JSON.stringify(await edit());
  } catch (error) {
    return JSON.stringify(toSentError(error));
  }
}

/** Throws the error with which the edits failed. */
export function readOutcomes(text: string): EditOutcome[] {
  const response = JSON.parse(text) as EditOutcome[] | SentError;
  if (Array.isArray(response)) return response;
  throw toError(response);
}

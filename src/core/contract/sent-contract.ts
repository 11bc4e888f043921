// A contract as plain data for another thread of the server, which stores what this one has
// validated. To read the description again there took 20 ms of each start.

import type { Collection, Contract, Field } from "./contract.ts";
import type { PlantId } from "./plant-id.ts";
import { type FieldType, typeOfKind } from "./values/stored-types.ts";

/** Plain data, which crosses threads: a type is its kind, and there are no checks. */
export interface SentContract {
  readonly contract: Omit<Contract, "collections">;
  readonly collections: readonly SentCollection[];
}

interface SentCollection {
  readonly collection: Omit<Collection, "fields" | "id" | "titleField" | "groupField" | "body">;
  readonly id: Omit<Collection["id"], "type"> & { readonly kind: string };
  readonly fields: readonly (Omit<Field, "type"> & { readonly kind: string })[];
  /** The indexes of these fields, or -1. */
  readonly title: number;
  readonly group: number;
}

export function sentContract({ collections, ...contract }: Contract): SentContract {
  const { openapi, info } = contract.document;
  return {
    contract: { ...contract, document: { openapi, info } },
    collections: collections.map(sentCollection),
  };
}

function sentCollection({
  fields,
  id,
  titleField,
  groupField,
  body: _,
  ...collection
}: Collection): SentCollection {
  const { type, ...idWithoutType } = id;
  const indexOf = (field: Field | undefined) => (field === undefined ? -1 : fields.indexOf(field));
  return {
    collection: {
      ...collection,
      operations: { create: { ...collection.operations.create, headers: undefined } },
    },
    id: { ...idWithoutType, kind: type.kind },
    fields: fields.map(({ type, ...field }) => ({ ...field, kind: type.kind })),
    title: indexOf(titleField),
    group: indexOf(groupField),
  };
}

/** The contract as a store needs it, whose types accept all values of their kinds. */
export function receivedContract({ contract, collections }: SentContract): Contract {
  return { ...contract, collections: collections.map(receivedCollection) };
}

function receivedCollection({ collection, id, fields: sent, title, group }: SentCollection): Collection {
  const { kind, ...ownId } = id;
  const fields = sent.map(({ kind: own, ...field }) => ({ ...field, type: typeOfKind(own) }));
  return {
    ...collection,
    body: undefined,
    id: { ...ownId, type: typeOfKind(kind) as FieldType<PlantId> },
    fields,
    titleField: fields[title],
    groupField: fields[group],
  };
}

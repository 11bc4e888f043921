// Sends a contract to another thread of the server, which stores what this one has validated, and need
// not read the description again.

import type { Collection, Contract, ServedOperation } from "./contract.ts";
import type { PlantId } from "./plant-id.ts";
import { type FieldType, type Kind, typeOfKind } from "./stored-types.ts";

/** Plain data, which crosses threads: a type is its kind, and there are no checks. */
export type SentContract = ReturnType<typeof sentContract>;

export function sentContract({ collections, document: { openapi, info }, ...contract }: Contract) {
  return { ...contract, document: { openapi, info }, collections: collections.map(sentCollection) };
}

function sentCollection({ id, fields, list, ...collection }: Collection) {
  const { create, get, list: listing } = collection.operations;
  return {
    ...collection,
    id: withKind(id),
    fields: fields.map((field) => withKind({ ...field, gather: undefined })),
    // A store needs none of these, and they have types and checks.
    ...{ body: undefined, titleField: undefined, groupField: undefined },
    list: { ...list, filters: list.filters.map((filter) => ({ ...filter, check: undefined })) },
    // The responses of reads are written where the rows are.
    operations: {
      create: withoutChecks(create),
      ...(get && { get: withoutChecks(get) }),
      ...(listing && { list: withoutChecks(listing) }),
    },
  };
}

function withoutChecks(operation: ServedOperation): ServedOperation {
  return { ...operation, checked: undefined };
}

/** The contract as a store needs it, whose types accept all values of their kinds. */
export function receivedContract({ collections, ...contract }: SentContract): Contract {
  return {
    ...contract,
    collections: collections.map(({ id, fields, ...collection }) => ({
      ...collection,
      id: withType(id) as Omit<typeof id, "kind"> & { readonly type: FieldType<PlantId> },
      fields: fields.map(withType),
    })),
  };
}

function withKind<Part extends { readonly type: Pick<FieldType, "kind"> }>({ type, ...part }: Part) {
  return { ...part, kind: type.kind };
}

function withType<Part extends { readonly kind: Kind }>({ kind, ...part }: Part) {
  return { ...part, type: typeOfKind(kind) };
}

// A contract as plain data for another thread of the server, which stores what this one has
// validated. To read the description again there took 20 ms of each start.

import type { Contract, Field } from "./contract.ts";
import type { PlantId } from "./plant-id.ts";
import { type FieldType, typeOfKind } from "./values/stored-types.ts";

/** Plain data, which crosses threads: a type is its kind, and there are no checks. */
export interface SentContract {
  readonly contract: Omit<Contract, "fields" | "id" | "titleField" | "groupField" | "body">;
  readonly id: Omit<Contract["id"], "type"> & { readonly kind: string };
  readonly fields: readonly (Omit<Field, "type"> & { readonly kind: string })[];
  /** The indexes of these fields, or -1. */
  readonly title: number;
  readonly group: number;
}

export function sentContract({
  fields,
  id,
  titleField,
  groupField,
  body: _,
  ...contract
}: Contract): SentContract {
  const { type, ...idWithoutType } = id;
  const { document, operations } = contract;
  const { openapi, info } = document;
  const indexOf = (field: Field | undefined) => (field === undefined ? -1 : fields.indexOf(field));
  return {
    contract: {
      ...contract,
      document: { openapi, info },
      operations: { create: { ...operations.create, headers: undefined } },
    },
    id: { ...idWithoutType, kind: type.kind },
    fields: fields.map(({ type, ...field }) => ({ ...field, kind: type.kind })),
    title: indexOf(titleField),
    group: indexOf(groupField),
  };
}

/** The contract as a store needs it, whose types accept all values of their kinds. */
export function receivedContract({ contract, id, fields: sent, title, group }: SentContract): Contract {
  const { kind, ...ownId } = id;
  const fields = sent.map(({ kind: own, ...field }) => ({ ...field, type: typeOfKind(own) }));
  return {
    ...contract,
    body: undefined,
    id: { ...ownId, type: typeOfKind(kind) as FieldType<PlantId> },
    fields,
    titleField: fields[title],
    groupField: fields[group],
  };
}

// Keeps the schemas of everything that a store has held: it takes back a field or a collection that
// an earlier contract dropped if that has the same schema.

import type { ContractComparison } from "../../contract/compiler.ts";
import type { Collection, Field } from "../../contract/contract.ts";
import { parseExactJson, toExactJson } from "../../json/exact-json.ts";
import type { Json } from "../../json/json-values.ts";

interface KeptCollection {
  readonly id: Json;
  readonly body: Json;
  /** The fields that all its plants have. */
  readonly required: readonly string[];
  /** All fields that it ever had, as they were last. */
  readonly fields: readonly (readonly [name: string, schema: Json])[];
}

/** By the tables of the collections. */
export type KeptSchemas = ReadonlyMap<string, KeptCollection>;

export function parseSchemas(json: string | null): KeptSchemas {
  return new Map(json === null ? [] : (parseExactJson(json) as [string, KeptCollection][]));
}

/** What a store keeps, as JSON, once it has these collections. */
export function schemasJson(kept: KeptSchemas, collections: readonly Collection[]): string {
  const current = collections.map(({ table, id, body, fields }): [string, KeptCollection] => [
    table,
    {
      id: id.schema,
      body: body?.schema ?? {},
      required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
      fields: [
        ...new Map([
          ...(kept.get(table)?.fields ?? []),
          ...fields.map(({ name, schema }) => [name, schema] as const),
        ]),
      ],
    },
  ]);
  return toExactJson([...new Map([...kept, ...current])]);
}

/** Whether a collection had a field, and with this schema when it was dropped. */
export function isUnchanged(
  kept: KeptCollection | undefined,
  { name, schema }: Field,
  { restrictsAlike }: Pick<ContractComparison, "restrictsAlike">,
): boolean {
  const before = new Map(kept?.fields).get(name);
  return before !== undefined && restrictsAlike(before, schema);
}

/** The reason why a collection that was dropped cannot come back, as a sentence. */
export function findRefusedReturn(
  kept: KeptCollection,
  wanted: Collection,
  { restrictsAlike }: Pick<ContractComparison, "restrictsAlike">,
): string | undefined {
  const { id, body, fields } = wanted;
  if (!restrictsAlike(kept.id, id.schema))
    return `"${id.name}" was validated by another schema when the collection was dropped`;
  if (!restrictsAlike(kept.body, body?.schema ?? {}))
    return "its body was validated by another schema when the collection was dropped";
  const missing = fields.find(
    ({ name, isRequired, fill }) => isRequired && fill === undefined && !kept.required.includes(name),
  );
  return missing && `"${missing.name}" was not required when the collection was dropped`;
}

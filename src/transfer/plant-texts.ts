// Parses plants from texts, such as the cells of a CSV record.

import type { ApiError } from "../base/errors.ts";
import type { Field, Plant } from "../contract/contract.ts";
import {
  invalidPlant,
  type Member,
  mismatch,
  missing,
  type PlantSchema,
  shorten,
  storable,
} from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { FieldValue } from "../contract/stored-types.ts";

/**
 * Parses and validates texts, such as the cells of a CSV record: the plant, or invalidPlant or
 * unstorableText.
 *
 * @param texts undefined where absent; the values are in the order of the contract's fields.
 * @param newId chooses the id of texts without one.
 */
export function parsePlantTexts(
  collection: PlantSchema,
  texts: { readonly id: string | undefined; readonly values: readonly (string | undefined)[] },
  newId?: () => PlantId,
): Plant | ApiError {
  const errors: string[] = [];
  const { id: member, fields } = collection;
  const id = texts.id === undefined ? newId?.() : member.type.parse(texts.id);
  if (texts.id === undefined && id === undefined) errors.push(missing(member));
  else if (texts.id !== undefined && id === undefined) errors.push(wrongId(member, texts.id));
  const values: (FieldValue | undefined)[] = [];
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as Field;
    const text = texts.values[index];
    // Programs that quote every cell also quote the empty cell of a value that is no text.
    const isAbsent = text === undefined || (text === "" && field.type.parse("") === undefined);
    const value = isAbsent ? field.default : field.type.parse(text);
    values.push(value);
    if (value === undefined && !isAbsent) errors.push(mismatch(field, JSON.stringify(shorten(text))));
    else if (value === undefined && field.isRequired) errors.push(missing(field));
  }
  return errors.length > 0
    ? invalidPlant(collection, errors)
    : storable(collection, { id: id as PlantId, values });
}

/** The error of an id, which a spreadsheet may have changed, such as to 9.0072E+15. */
function wrongId(member: Member, id: string): string {
  const shown = shorten(id);
  if (member.type.kind.name !== "integer") return mismatch(member, JSON.stringify(shown));
  if (/^-?[0-9]+$/.test(id)) return mismatch(member, shown);
  if (/^-?\d{1,3}(?:[.,' \u00a0\u202f]\d{3})+$/.test(id))
    return `"${member.name}" must be ${member.type.expected} in decimal digits, but is ${shown}: write it without separators between thousands`;
  const reason = /^-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?$/i.test(id)
    ? `${shown}: a spreadsheet may have shortened it, so take the id from where the spreadsheet had it`
    : JSON.stringify(shown);
  return `"${member.name}" must be ${member.type.expected} in decimal digits, but is ${reason}`;
}
